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

// Which tile of so many a block computes. Eight rows of tiles at a time, from the left to the
// right, so that blocks that run at the same time share what the L2 cache holds.
__device__ uint2 place(unsigned int tile, uint2 tiles)
{
    unsigned int band = tile / (8 * tiles.x), rows = min(8, tiles.y - 8 * band);
    unsigned int of_band = tile - 8 * band * tiles.x;
    return make_uint2(of_band / rows, 8 * band + of_band % rows);
}

__device__ uint2 tile()
{
    return place(blockIdx.y * gridDim.x + blockIdx.x, make_uint2(gridDim.x, gridDim.y));
}

// As `registers`, with three more ideas. Tiles are copied while others are multiplied: there
// is room for four, in dynamic shared memory. The numbers of the next step are read while this
// one's are multiplied. And they are read 16 bytes at a time. A block computes 128 × 256 elements,
// a warp 64 × 64, a thread 16 × 8. Rows begin at multiples of 16 bytes, so `n` is a multiple of 4.
const unsigned int TILES = 4, DEPTH = 16, WIDTH = 256, HEIGHT = 128;

extern __shared__ __align__(16) float tiles[];

// WHOLE: `n` is a multiple of 256, so no tile has an edge to look out for.
template <bool WHOLE> struct Sums {
    float (*tile_a)[DEPTH][HEIGHT + 4];
    float (*tile_b)[DEPTH][WIDTH];
    float sum[16][8];
    unsigned int x, y; // of this thread's first sum

    __device__ Sums(float *tiles)
    {
        tile_a = (float(*)[DEPTH][HEIGHT + 4])tiles;
        tile_b = (float(*)[DEPTH][WIDTH])(tiles + TILES * DEPTH * (HEIGHT + 4));
        unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        // Of the 4 × 8 threads of a warp, neighbours two by two in both directions: so a
        // half-warp reads each number of shared memory once.
        y = warp / 4 * 64 + (lane / 16 * 2 + lane % 2) * 4;
        x = warp % 4 * 64 + lane / 2 % 8 * 4;
    }

    // Columns `begin` to `end` of a's rows from `top` on, times as many rows of b's columns from
    // `side` on.
    __device__ void multiply(const float *a, const float *b, unsigned int n, unsigned int side,
                             unsigned int top, unsigned int begin, unsigned int end)
    {
        // What this thread copies: parts of a column of a's tile, 16 rows apart, and vectors of b's.
        unsigned int t = threadIdx.x;
        unsigned int of_k = t % DEPTH, of_y = t / DEPTH, of_x = t % 64 * 4, of_row = t / 64;
        const float *from_a = a + (size_t)(top + of_y) * n + begin + of_k;
        const float *from_b = b + (size_t)(begin + of_row) * n + side + of_x;
        size_t rows_of_a = (size_t)16 * n, rows_of_b = (size_t)4 * n;
        unsigned int left = begin;
        auto copy = [&](int to) {
            if (left < end) {
#pragma unroll
                for (int i = 0; i < 8; i++) {
                    bool inside = WHOLE || (top + of_y + 16 * i < n && left + of_k < n);
                    copy4<WHOLE>(&tile_a[to][of_k][of_y + 16 * i],
                                 inside ? from_a + i * rows_of_a : a, inside);
                }
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    bool inside = WHOLE || (left + of_row + 4 * i < n && side + of_x < n);
                    copy16<WHOLE>(&tile_b[to][of_row + 4 * i][of_x],
                                  inside ? from_b + i * rows_of_b : b, inside);
                }
            }
            left += DEPTH;
            from_a += DEPTH;
            from_b += 4 * rows_of_b;
            commit();
        };
// ANCHOR: pipelined
        float of_a[2][16], of_b[2][8];
        auto read = [&](int into, int from, int k) {
#pragma unroll
            for (int p = 0; p < 16; p += 4)
                *(float4 *)&of_a[into][p] = *(const float4 *)&tile_a[from][k][y + 4 * p];
#pragma unroll
            for (int q = 0; q < 8; q += 4)
                *(float4 *)&of_b[into][q] = *(const float4 *)&tile_b[from][k][x + 8 * q];
        };
#pragma unroll
        for (int p = 0; p < 16; p++)
#pragma unroll
            for (int q = 0; q < 8; q++)
                sum[p][q] = 0;
        for (int i = 0; i < TILES - 1; i++)
            copy(i);
        arrived<TILES - 2>();
        int now = 0;
        read(0, now, 0);
        for (unsigned int at = begin; at < end; at += DEPTH) {
            int free = now == 0 ? TILES - 1 : now - 1;
#pragma unroll
            for (int k = 0; k < DEPTH; k++) {
                if (k == DEPTH - 1) {
                    now = now + 1 == TILES ? 0 : now + 1;
                    arrived<TILES - 2>();
                }
                read((k + 1) % 2, now, (k + 1) % DEPTH);
                if (k == 0)
                    copy(free);
                // Forth and back through the rows: neighbours in time share an operand.
#pragma unroll
                for (int q = 0; q < 8; q++)
#pragma unroll
                    for (int i = 0; i < 16; i++) {
                        int p = q % 2 ? 15 - i : i;
                        sum[p][q] += of_a[k % 2][p] * of_b[k % 2][q];
                    }
            }
        }
        arrived<0>(); // all threads are done with the last tiles
    }
// ANCHOR_END: pipelined

    // Calls `use` for four neighbouring sums at a time, with their column and row in the tile.
    template <class Use> __device__ void each_four(Use use)
    {
#pragma unroll
        for (int p = 0; p < 16; p++)
#pragma unroll
            for (int q = 0; q < 8; q += 4)
                use(x + 8 * q, y + p % 4 + 16 * (p / 4), *(float4 *)&sum[p][q]);
    }
};

template <bool WHOLE>
__device__ void product(const float *a, const float *b, float *c, unsigned int n)
{
    Sums<WHOLE> sums(tiles);
    uint2 at = tile();
    unsigned int side = at.x * WIDTH, top = at.y * HEIGHT;
    sums.multiply(a, b, n, side, top, 0, n);
    sums.each_four([&](unsigned int x, unsigned int y, float4 four) {
        if (WHOLE || (side + x < n && top + y < n))
            *(float4 *)&c[(size_t)(top + y) * n + side + x] = four;
    });
}

extern "C" __global__ __launch_bounds__(256) void pipelined(const float *a, const float *b,
                                                           float *c, unsigned int n)
{
    product<true>(a, b, c, n);
}

extern "C" __global__ __launch_bounds__(256) void pipelined_edges(const float *a, const float *b,
                                                                 float *c, unsigned int n)
{
    product<false>(a, b, c, n);
}

// ANCHOR: shared_out
// As `pipelined`, for one block on each multiprocessor, and `n` a multiple of 256. The last tiles,
// one to two for each block, are shared out evenly along k: a block finishes the tile that the
// block after it has begun, takes one whole or none, and begins one more. What it finished first it
// leaves in `parts`; the block that began the tile does that last, and fetches it there. It waits
// for a block with a smaller number only, which has started earlier. There are at least as many
// tiles as blocks, and `ready` is 0 before and after.
extern "C" __global__ __launch_bounds__(256, 1)
    void shared_out(const float *a, const float *b, float *c, unsigned int n, float *parts,
                    volatile unsigned int *ready)
{
    Sums<true> sums(tiles);
    unsigned int across = n / WIDTH, down = n / HEIGHT, steps = n / DEPTH;
    unsigned int blocks = gridDim.x, block = blocks - 1 - blockIdx.x;
    unsigned int all = across * down, whole = (all / blocks - 1) * blocks;
    unsigned long long rest = (unsigned long long)(all - whole) * steps;
    unsigned int at = block * rest / blocks, end = (block + 1) * rest / blocks, next = block;
    for (;;) {
        unsigned int tile, from, to; // which, and its steps along k
        if (next < whole)
            tile = next, from = 0, to = steps, next += blocks;
        else if (at < end)
            tile = whole + at / steps, from = at % steps, to = min(steps, from + end - at),
            at += to - from;
        else
            return;
        uint2 place = ::place(tile, make_uint2(across, down));
        unsigned int side = place.x * WIDTH, top = place.y * HEIGHT;
        sums.multiply(a, b, n, side, top, from * DEPTH, to * DEPTH);
        if (from > 0) {
            float *part = parts + (size_t)block * HEIGHT * WIDTH;
            sums.each_four([&](unsigned int x, unsigned int y, float4 four) {
                *(float4 *)&part[y * WIDTH + x] = four;
            });
            __threadfence();
            __syncthreads();
            if (threadIdx.x == 0)
                ready[block] = 1;
        } else {
            if (to < steps) {
                if (threadIdx.x == 0) {
                    while (ready[block + 1] == 0)
                        ;
                    ready[block + 1] = 0;
                    __threadfence();
                }
                __syncthreads();
                const float *part = parts + (size_t)(block + 1) * HEIGHT * WIDTH;
                sums.each_four([&](unsigned int x, unsigned int y, float4 &four) {
                    float4 more = __ldcg((const float4 *)&part[y * WIDTH + x]);
                    four.x += more.x, four.y += more.y, four.z += more.z, four.w += more.w;
                });
            }
            sums.each_four([&](unsigned int x, unsigned int y, float4 four) {
                *(float4 *)&c[(size_t)(top + y) * n + side + x] = four;
            });
        }
    }
}
// ANCHOR_END: shared_out

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
