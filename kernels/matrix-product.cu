// Products of square matrices: c = a · b, of `n` rows of `n` floats each, row by row.

// ANCHOR: naive
// A thread for each element of c: a row of a times a column of b, in blocks of 32 × 8.
extern "C" __global__ void naive(const float *a, const float *b, float *c, unsigned int n)
{
    unsigned int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= n || y >= n)
        return;
    float sum = 0;
    for (unsigned int k = 0; k < n; k++)
        sum += a[(size_t)y * n + k] * b[(size_t)k * n + x];
    c[(size_t)y * n + x] = sum;
}
// ANCHOR_END: naive

// ANCHOR: tiled
// The same, but the block's 32 × 32 threads fetch a tile of a and a tile of b together, and
// each element that was fetched once is used by 32 threads.
extern "C" __global__ void tiled(const float *a, const float *b, float *c, unsigned int n)
{
    __shared__ float tile_a[32][32], tile_b[32][32];
    unsigned int i = threadIdx.x, j = threadIdx.y;
    unsigned int x = blockIdx.x * 32 + i, y = blockIdx.y * 32 + j;
    float sum = 0;
    for (unsigned int left = 0; left < n; left += 32) {
        tile_a[j][i] = y < n && left + i < n ? a[(size_t)y * n + left + i] : 0;
        tile_b[j][i] = left + j < n && x < n ? b[(size_t)(left + j) * n + x] : 0;
        __syncthreads();
        for (unsigned int k = 0; k < 32; k++)
            sum += tile_a[j][k] * tile_b[k][i];
        __syncthreads();
    }
    if (x < n && y < n)
        c[(size_t)y * n + x] = sum;
}
// ANCHOR_END: tiled

// ANCHOR: registers
// A block of 256 threads computes 128 × 128 elements, and each thread 8 × 8 of them: it loads
// 8 + 8 numbers from shared memory for 64 multiplications. Its rows and columns have a stride
// of 16, so that the threads of a warp load neighbours.
extern "C" __global__ __launch_bounds__(256) void registers(const float *a, const float *b,
                                                           float *c, unsigned int n)
{
    __shared__ float tile_a[8][128 + 4], tile_b[8][128];
    unsigned int t = threadIdx.x, i = t % 16, j = t / 16;
    unsigned int first_x = blockIdx.x * 128, first_y = blockIdx.y * 128;
    float sum[8][8] = {};
    for (unsigned int left = 0; left < n; left += 8) {
        // Four elements of each tile for each thread; that of a is transposed.
        for (unsigned int e = t; e < 8 * 128; e += 256) {
            unsigned int k = e % 8, y = e / 8;
            bool inside = first_y + y < n && left + k < n;
            tile_a[k][y] = inside ? a[(size_t)(first_y + y) * n + left + k] : 0;
        }
        for (unsigned int e = t; e < 8 * 128; e += 256) {
            unsigned int x = e % 128, k = e / 128;
            bool inside = left + k < n && first_x + x < n;
            tile_b[k][x] = inside ? b[(size_t)(left + k) * n + first_x + x] : 0;
        }
        __syncthreads();
// ANCHOR: outer
#pragma unroll
        for (int k = 0; k < 8; k++) {
            float of_a[8], of_b[8];
#pragma unroll
            for (int p = 0; p < 8; p++) {
                of_a[p] = tile_a[k][j + 16 * p];
                of_b[p] = tile_b[k][i + 16 * p];
            }
#pragma unroll
            for (int p = 0; p < 8; p++)
#pragma unroll
                for (int q = 0; q < 8; q++)
                    sum[p][q] += of_a[p] * of_b[q];
        }
// ANCHOR_END: outer
        __syncthreads();
    }
#pragma unroll
    for (int p = 0; p < 8; p++)
#pragma unroll
        for (int q = 0; q < 8; q++) {
            unsigned int x = first_x + i + 16 * q, y = first_y + j + 16 * p;
            if (x < n && y < n)
                c[(size_t)y * n + x] = sum[p][q];
        }
}
// ANCHOR_END: registers

// ANCHOR: multiply_add
// The ceiling: multiplications and additions of numbers that never leave the registers, in
// eight chains, so that none waits for the one before. With factor and addend 1 they count.
extern "C" __global__ void multiply_add(float *out, unsigned int steps, float factor,
                                        float addend)
{
    float chain[8];
    for (int i = 0; i < 8; i++)
        chain[i] = threadIdx.x + i;
    for (unsigned int step = 0; step < steps; step += 16)
#pragma unroll
        for (int more = 0; more < 16; more++)
#pragma unroll
            for (int i = 0; i < 8; i++)
                chain[i] = chain[i] * factor + addend;
    float sum = 0;
    for (int i = 0; i < 8; i++)
        sum += chain[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// ANCHOR_END: multiply_add

// ANCHOR: clocks
// How fast the clock is now: how many cycles it goes on while a timer that does not depend on
// it goes on by `nanoseconds`. The timer moves in steps, so it begins and ends with one.
extern "C" __global__ void read_clocks(unsigned long long *out, unsigned int nanoseconds)
{
    auto timer = [] {
        unsigned long long now;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        return now;
    };
    unsigned long long before = timer(), begin, end;
    while ((begin = timer()) == before)
        ;
    long long cycles = clock64();
    while ((end = timer()) - begin < nanoseconds)
        ;
    out[0] = clock64() - cycles;
    out[1] = end - begin;
}
// ANCHOR_END: clocks
