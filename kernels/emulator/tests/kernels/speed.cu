// compute: 8.0
// Kernels of many kinds, for measuring how fast each runs. Each takes `in`, `out` and `count`.

#define KERNEL extern "C" __global__ void
#define ARGUMENTS (const float *in, float *out, unsigned *count)
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
extern "C" __device__ int printf(const char *, ...);

// Blocks of 256 threads, matrices of 512 × 512.
KERNEL naive_transpose ARGUMENTS
{
    unsigned x = INDEX % 512, y = INDEX / 512;
    out[x * 512 + y] = in[y * 512 + x];
}

KERNEL matrix_product ARGUMENTS
{
    __shared__ float a[16][16], b[16][16];
    unsigned x = threadIdx.x % 16, y = threadIdx.x / 16;
    unsigned column = blockIdx.x % 8 * 16 + x, row = blockIdx.x / 8 * 16 + y;
    float sum = 0;
    for (unsigned k = 0; k < 128; k += 16) {
        a[y][x] = in[row * 128 + k + x];
        b[y][x] = in[(k + y) * 128 + column];
        __syncthreads();
        for (unsigned i = 0; i < 16; i++)
            sum += a[y][i] * b[i][x];
        __syncthreads();
    }
    out[row * 128 + column] = sum;
}

KERNEL histogram ARGUMENTS
{
    __shared__ unsigned bins[64];
    if (threadIdx.x < 64)
        bins[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned i = 0; i < 8; i++)
        atomicAdd(&bins[(INDEX + i) * 2654435761u >> 26], 1);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&count[threadIdx.x], bins[threadIdx.x]);
}

KERNEL global_atomics ARGUMENTS
{
    for (unsigned i = 0; i < 8; i++)
        atomicAdd(&count[(INDEX + i) * 2654435761u >> 20], 1);
}

KERNEL scan_by_shuffles ARGUMENTS
{
    __shared__ float sums[8];
    unsigned t = threadIdx.x;
    float sum = in[INDEX];
    for (int d = 1; d < 32; d *= 2) {
        float other = __shfl_up_sync(0xffffffff, sum, d);
        sum += t % 32 >= d ? other : 0;
    }
    if (t % 32 == 31)
        sums[t / 32] = sum;
    __syncthreads();
    for (unsigned warp = 0; warp < t / 32; warp++)
        sum += sums[warp];
    out[INDEX] = sum;
}

KERNEL local_arrays ARGUMENTS
{
    float own[16];
    for (int i = 0; i < 16; i++)
        own[i] = in[INDEX] + i;
    float sum = 0;
    for (unsigned i = 0; i < 64; i++) {
        own[(i * 7 + threadIdx.x) % 16] += i;
        sum += own[(i + threadIdx.x) % 16];
    }
    out[INDEX] = sum;
}

// Blocks of 32 threads.
KERNEL spin_lock ARGUMENTS
{
    while (atomicCAS(count, 0, 1) != 0)
        ;
    __threadfence();
    *out += 1;
    __threadfence();
    atomicExch(count, 0);
}

KERNEL copies ARGUMENTS
{
    __shared__ float tile[2][256];
    unsigned t = threadIdx.x;
    float sum = 0;
    for (unsigned step = 0; step < 16; step++) {
        unsigned to = (unsigned)__cvta_generic_to_shared(&tile[step % 2][t]);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                     :: "r"(to), "l"(&in[(INDEX + 256 * step) % 262144]) : "memory");
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
        sum += tile[step % 2][255 - t];
    }
    out[INDEX] = sum;
}

KERNEL prints ARGUMENTS
{
    if (threadIdx.x % 8 == 0)
        printf("thread %u has %f\n", INDEX, in[INDEX]);
}

// Blocks of one thread.
KERNEL one_thread ARGUMENTS
{
    out[blockIdx.x] = in[blockIdx.x] * 2 + 1;
}

KERNEL n_body ARGUMENTS
{
    __shared__ float tile[256];
    float own = in[INDEX], force = 0;
    for (unsigned start = 0; start < 1024; start += 256) {
        tile[threadIdx.x] = in[start + threadIdx.x];
        __syncthreads();
        for (unsigned i = 0; i < 256; i++) {
            float d = tile[i] - own;
            force += d * rsqrtf(d * d + 0.01f);
        }
        __syncthreads();
    }
    out[INDEX] = force;
}

KERNEL bank_conflicts ARGUMENTS
{
    __shared__ float tile[32 * 32];
    for (unsigned i = threadIdx.x; i < 1024; i += 256)
        tile[i] = in[i];
    __syncthreads();
    float sum = 0;
    for (unsigned i = 0; i < 64; i++)
        sum += tile[threadIdx.x % 32 * 32 + (i + threadIdx.x / 32) % 32];
    out[INDEX] = sum;
}

KERNEL mandelbrot ARGUMENTS
{
    float x = INDEX % 512 / 256.0f - 1.5f, y = INDEX / 512 / 64.0f - 1, a = x, b = y;
    unsigned i = 0;
    for (; i < 256 && a * a + b * b < 4; i++) {
        float next = a * a - b * b + x;
        b = 2 * a * b + y;
        a = next;
    }
    out[INDEX] = i;
}
