// compute: 8.0
//
// Products of square matrices with what GPUs can since compute capability 8.0: copies to
// shared memory that no thread waits for, and tensor cores that multiply BF16.

// ANCHOR: instructions
__device__ unsigned int shared(const void *pointer)
{
    return (unsigned int)__cvta_generic_to_shared(pointer);
}

// Copies 4 or 16 bytes to shared memory, past the registers. WHOLE: always; or else zeros, where
// not `inside`.
template <bool WHOLE> __device__ void copy4(void *to, const void *from, bool inside)
{
    if (WHOLE)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared(to)), "l"(from));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                     ::"r"(shared(to)), "l"(from), "r"(inside ? 4 : 0));
}

template <bool WHOLE> __device__ void copy16(void *to, const void *from, bool inside)
{
    if (WHOLE)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared(to)), "l"(from));
    else
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     ::"r"(shared(to)), "l"(from), "r"(inside ? 16 : 0));
}

// The copies up to here are one group. `arrived` waits until all but the newest PENDING
// groups are there, and all threads know.
__device__ void commit() { asm volatile("cp.async.commit_group;"); }

template <int PENDING> __device__ void arrived()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
    __syncthreads();
}
// ANCHOR_END: instructions

// Which tile a block computes. Eight rows of tiles at a time, from the left to the right, so
// that blocks that run at the same time share what the L2 cache holds.
__device__ uint2 tile()
{
    unsigned int block = blockIdx.y * gridDim.x + blockIdx.x, band = block / (8 * gridDim.x);
    unsigned int rows = min(8, gridDim.y - 8 * band), place = block - 8 * band * gridDim.x;
    return make_uint2(place / rows, 8 * band + place % rows);
}

// ANCHOR: pipelined
// As `registers`, with three more ideas. Tiles are copied while others are multiplied: there
// is room for four, in dynamic shared memory. The numbers of the next step are read while this one's are multiplied.
// And they are read 16 bytes at a time. A block computes 128 × 256 elements, a warp 64 × 64,
// a thread 16 × 8. Rows begin at multiples of 16 bytes, so `n` is a multiple of 4. WHOLE: of
// 256, so no tile has an edge to look out for.
template <bool WHOLE>
__device__ void pipeline(const float *a, const float *b, float *c, unsigned int n)
{
    const int TILES = 4;
    extern __shared__ __align__(16) float tiles[];
    float(*tile_a)[8][128 + 4] = (float(*)[8][128 + 4])tiles;
    float(*tile_b)[8][256] = (float(*)[8][256])(tiles + TILES * 8 * (128 + 4));
    unsigned int t = threadIdx.x, lane = t % 32, warp = t / 32;
    uint2 at = tile();
    unsigned int first_x = at.x * 256, first_y = at.y * 128;
    // Of the 4 × 8 threads of a warp, neighbours two by two in both directions: so a
    // half-warp reads each number of shared memory once.
    unsigned int y = warp / 4 * 64 + (lane / 16 * 2 + lane % 2) * 4;
    unsigned int x = warp % 4 * 64 + lane / 2 % 8 * 4;

    // What this thread copies: a column of a's tile, 32 rows apart, and a vector of b's.
    unsigned int of_k = t % 8, of_y = t / 8, of_x = t % 64 * 4, of_row = t / 64;
    const float *from_a = a + (size_t)(first_y + of_y) * n + of_k;
    const float *from_b = b + (size_t)of_row * n + first_x + of_x;
    size_t rows_of_a = (size_t)32 * n, rows_of_b = (size_t)4 * n;
    auto copy = [&](int to, unsigned int left) {
        if (left >= n)
            return;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            bool inside = WHOLE || (first_y + of_y + 32 * i < n && left + of_k < n);
            copy4<WHOLE>(&tile_a[to][of_k][of_y + 32 * i], inside ? from_a + i * rows_of_a : a, inside);
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
            bool inside = WHOLE || (left + of_row + 4 * i < n && first_x + of_x < n);
            copy16<WHOLE>(&tile_b[to][of_row + 4 * i][of_x], inside ? from_b + i * rows_of_b : b, inside);
        }
        from_a += 8;
        from_b += 2 * rows_of_b;
    };

    float sum[16][8] = {}, of_a[2][16], of_b[2][8];
    auto read = [&](int into, int from, int k) {
#pragma unroll
        for (int p = 0; p < 16; p += 4)
            *(float4 *)&of_a[into][p] = *(const float4 *)&tile_a[from][k][y + 4 * p];
#pragma unroll
        for (int q = 0; q < 8; q += 4)
            *(float4 *)&of_b[into][q] = *(const float4 *)&tile_b[from][k][x + 8 * q];
    };
    for (int i = 0; i < TILES - 1; i++) {
        copy(i, 8 * i);
        commit();
    }
    arrived<TILES - 2>();
    int now = 0;
    read(0, now, 0);
    for (unsigned int left = 0; left < n; left += 8) {
        int free = now == 0 ? TILES - 1 : now - 1;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            if (k == 7) {
                now = now + 1 == TILES ? 0 : now + 1;
                arrived<TILES - 2>();
            }
            read((k + 1) % 2, now, (k + 1) % 8);
            if (k == 0) {
                copy(free, left + 8 * (TILES - 1));
                commit();
            }
            // Forth and back through the columns: neighbours in time share an operand.
#pragma unroll
            for (int p = 0; p < 16; p++)
#pragma unroll
                for (int i = 0; i < 8; i++) {
                    int q = p % 2 ? 7 - i : i;
                    sum[p][q] += of_a[k % 2][p] * of_b[k % 2][q];
                }
        }
    }
#pragma unroll
    for (int p = 0; p < 16; p++)
#pragma unroll
        for (int q = 0; q < 8; q += 4) {
            unsigned int to_x = first_x + x + 8 * q, to_y = first_y + y + p % 4 + 16 * (p / 4);
            if (to_x < n && to_y < n)
                *(float4 *)&c[(size_t)to_y * n + to_x] = *(float4 *)&sum[p][q];
        }
}

extern "C" __global__ __launch_bounds__(256) void pipelined(const float *a, const float *b,
                                                           float *c, unsigned int n)
{
    pipeline<true>(a, b, c, n);
}

extern "C" __global__ __launch_bounds__(256) void pipelined_edges(const float *a, const float *b,
                                                                 float *c, unsigned int n)
{
    pipeline<false>(a, b, c, n);
}
// ANCHOR_END: pipelined

// ANCHOR: fragments
// A warp reads four matrices of 8 × 8 BF16 from shared memory, a row at each thread's address,
// so that each thread gets the pieces that the tensor core wants from it. `turned`: transposed.
__device__ void read(unsigned int (&to)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared(row)) : "memory");
}

__device__ void read_turned(unsigned int (&to)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared(row)) : "memory");
}

// One instruction of a warp: 16 × 16 times 16 × 8, added to 16 × 8 sums.
__device__ void multiply(float (&sum)[4], const unsigned int (&a)[4], unsigned int b0,
                         unsigned int b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two sums, rounded to BF16: `low` comes first in memory.
__device__ unsigned int rounded(float low, float high)
{
    unsigned int both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}
// ANCHOR_END: fragments

// ANCHOR: tensor
// BF16 in, sums of 32 bits, BF16 out. A block of four warps computes 128 × 128 elements, a
// warp 64 × 64. Rows begin at multiples of 16 bytes, so `n` is a multiple of 8. Tiles lie in
// shared memory in pieces of 8 elements, moved about so that eight rows are in all banks.
extern "C" __global__ __launch_bounds__(128) void tensor(const unsigned short *a,
                                                        const unsigned short *b,
                                                        unsigned short *c, unsigned int n)
{
    const int TILES = 3;
    __shared__ __align__(16) unsigned short tile_a[TILES][128 * 32], tile_b[TILES][32 * 128];
    unsigned int t = threadIdx.x, lane = t % 32, warp = t / 32;
    uint2 at = tile();
    unsigned int first_x = at.x * 128, first_y = at.y * 128;
    unsigned int x = warp % 2 * 64, y = warp / 2 * 64;
    auto in_a = [](unsigned int row, unsigned int piece) {
        return row * 32 + (piece ^ row / 2 % 4) * 8;
    };
    auto in_b = [](unsigned int row, unsigned int piece) {
        return row * 128 + (piece ^ row % 8) * 8;
    };
    auto copy = [&](int to, unsigned int left) {
        if (left >= n)
            return;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            unsigned int row = t / 4 + 32 * i, piece = t % 4;
            bool inside = first_y + row < n && left + 8 * piece < n;
            const unsigned short *from = a + (size_t)(first_y + row) * n + left + 8 * piece;
            copy16<false>(&tile_a[to][in_a(row, piece)], inside ? from : a, inside);
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            unsigned int row = t / 16 + 8 * i, piece = t % 16;
            bool inside = left + row < n && first_x + 8 * piece < n;
            const unsigned short *from = b + (size_t)(left + row) * n + first_x + 8 * piece;
            copy16<false>(&tile_b[to][in_b(row, piece)], inside ? from : b, inside);
        }
    };

    float sum[4][8][4] = {};
    for (int i = 0; i < TILES - 1; i++) {
        copy(i, 32 * i);
        commit();
    }
    int now = 0;
    for (unsigned int left = 0; left < n; left += 32) {
        arrived<TILES - 2>();
        copy(now == 0 ? TILES - 1 : now - 1, left + 32 * (TILES - 1));
        commit();
#pragma unroll
        for (int k = 0; k < 2; k++) {
            unsigned int of_a[4][4], of_b[4][4];
#pragma unroll
            for (int p = 0; p < 4; p++)
                read(of_a[p], &tile_a[now][in_a(y + 16 * p + lane % 16, 2 * k + lane / 16)]);
#pragma unroll
            for (int q = 0; q < 4; q++)
                read_turned(of_b[q],
                            &tile_b[now][in_b(16 * k + lane % 16, x / 8 + 2 * q + lane / 16)]);
#pragma unroll
            for (int p = 0; p < 4; p++)
#pragma unroll
                for (int q = 0; q < 8; q++)
                    multiply(sum[p][q], of_a[p], of_b[q / 2][q % 2 * 2], of_b[q / 2][q % 2 * 2 + 1]);
        }
        now = now + 1 == TILES ? 0 : now + 1;
    }
#pragma unroll
    for (int p = 0; p < 4; p++)
#pragma unroll
        for (int q = 0; q < 8; q++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                unsigned int to_y = first_y + y + 16 * p + lane / 4 + 8 * half;
                unsigned int to_x = first_x + x + 8 * q + lane % 4 * 2;
                if (to_x < n && to_y < n)
                    *(unsigned int *)&c[(size_t)to_y * n + to_x] =
                        rounded(sum[p][q][2 * half], sum[p][q][2 * half + 1]);
            }
}
// ANCHOR_END: tensor
