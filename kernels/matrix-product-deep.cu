// compute: 8.0
//
// Products of square matrices as `pipelined` in matrix-product-tensor.cu makes them, with deeper
// tiles, and with the last tiles shared out among the blocks. Sides are multiples of 256.

__device__ unsigned int shared(const void *pointer)
{
    return (unsigned int)__cvta_generic_to_shared(pointer);
}

// Copies 4 or 16 bytes to shared memory, past the registers.
__device__ void copy4(void *to, const void *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared(to)), "l"(from));
}

__device__ void copy16(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared(to)), "l"(from));
}

// The copies up to here are one group. `arrived` waits until all but the newest PENDING
// groups are there, and all threads know.
__device__ void commit() { asm volatile("cp.async.commit_group;"); }

template <int PENDING> __device__ void arrived()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
    __syncthreads();
}

// Which tile of so many a block computes. Eight rows of tiles at a time, from the left to the
// right, so that blocks that run at the same time share what the L2 cache holds.
__device__ uint2 place(unsigned int tile, uint2 tiles)
{
    unsigned int band = tile / (8 * tiles.x), rows = min(8, tiles.y - 8 * band);
    unsigned int of_band = tile - 8 * band * tiles.x;
    return make_uint2(of_band / rows, 8 * band + of_band % rows);
}

// A block computes 128 × 256 elements, a warp 64 × 64, a thread 16 × 8. Four tiles of each matrix
// lie in dynamic shared memory.
const unsigned int TILES = 4, DEPTH = 16, WIDTH = 256, HEIGHT = 128;

extern __shared__ __align__(16) float tiles[];

struct Sums {
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
                for (int i = 0; i < 8; i++)
                    copy4(&tile_a[to][of_k][of_y + 16 * i], from_a + i * rows_of_a);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    copy16(&tile_b[to][of_row + 4 * i][of_x], from_b + i * rows_of_b);
            }
            left += DEPTH;
            from_a += DEPTH;
            from_b += 4 * rows_of_b;
            commit();
        };
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

// A block for each tile.
extern "C" __global__ __launch_bounds__(256) void deep(const float *a, const float *b, float *c,
                                                       unsigned int n)
{
    Sums sums(tiles);
    uint2 at = place(blockIdx.y * gridDim.x + blockIdx.x, make_uint2(gridDim.x, gridDim.y));
    unsigned int side = at.x * WIDTH, top = at.y * HEIGHT;
    sums.multiply(a, b, n, side, top, 0, n);
    sums.each_four([&](unsigned int x, unsigned int y, float4 four) {
        *(float4 *)&c[(size_t)(top + y) * n + side + x] = four;
    });
}

// ANCHOR: shared_out
// The same, for one block on each multiprocessor. The last tiles,
// one to two for each block, are shared out evenly along k: a block finishes the tile that the
// block after it has begun, takes one whole or none, and begins one more. What it finished first it
// leaves in `parts`; the block that began the tile does that last, and fetches it there. It waits
// for a block with a smaller number only, which has started earlier. There are at least as many
// tiles as blocks, and `ready` is 0 before and after.
extern "C" __global__ __launch_bounds__(256, 1)
    void shared_out(const float *a, const float *b, float *c, unsigned int n, float *parts,
                    volatile unsigned int *ready)
{
    Sums sums(tiles);
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
