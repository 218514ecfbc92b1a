// h = x + r, and y = h / sqrt(mean of h * h in the row + 1e-5) * w.
//
// A block of 256 threads for each row of `columns` numbers, of which there are at most 2048.

#define THREADS 256
#define WARPS (THREADS / 32)
#define MOST 8 // columns of a thread

// The sum of all threads' values, in all of them.
__device__ float block_sum(float value)
{
    __shared__ float of_warp[WARPS];
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_xor_sync(0xFFFFFFFF, value, distance);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    for (int warp = 0; warp < WARPS; warp++)
        value += of_warp[warp];
    return value;
}

extern "C" __global__ void residual_norm(const float *x, const float *r, const float *w,
                                         float *h, float *y, int columns)
{
    size_t row = (size_t)blockIdx.x * columns;

    // The row stays in registers: the loop has a fixed number of turns, so `sum[k]` is a register.
    float sum[MOST], squares = 0;
#pragma unroll
    for (int k = 0; k < MOST; k++) {
        int c = threadIdx.x + k * THREADS;
        sum[k] = c < columns ? x[row + c] + r[row + c] : 0;
        if (c < columns)
            h[row + c] = sum[k];
        squares += sum[k] * sum[k];
    }

    float scale = rsqrtf(block_sum(squares) / columns + 1e-5f);
#pragma unroll
    for (int k = 0; k < MOST; k++) {
        int c = threadIdx.x + k * THREADS;
        if (c < columns)
            y[row + c] = sum[k] * scale * w[c];
    }
}
