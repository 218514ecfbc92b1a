// out[row][column] = exp(scale * in[row][column] - m) / sum, with m the row's largest
// scale * in[row][column], and the sum over the row.
//
// A block of 256 threads has a row to itself. Rows have up to 1024 columns.

#define THREADS 256

// The largest of the block's numbers, or their sum, in every thread.
__device__ float over_block(float x, bool sum)
{
    __shared__ float warps[THREADS / 32];

    for (int step = 16; step > 0; step /= 2) {
        float other = __shfl_xor_sync(0xffffffff, x, step);
        x = sum ? x + other : fmaxf(x, other);
    }
    __syncthreads(); // all have read what the last call left
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = x;
    __syncthreads();
    x = warps[0];
    for (int warp = 1; warp < THREADS / 32; warp++)
        x = sum ? x + warps[warp] : fmaxf(x, warps[warp]);
    return x;
}

extern "C" __global__ void softmax(const float *in, float *out, float scale, int columns)
{
    const float *from = in + (size_t)blockIdx.x * columns;
    float *to = out + (size_t)blockIdx.x * columns;
    float lowest = -1e30f; // less than any number of the input

    // What is beyond the end of the row adds nothing: its power is 0.
    float x[4];
    float m = lowest;
    for (int k = 0; k < 4; k++) {
        int column = threadIdx.x + k * THREADS;
        x[k] = column < columns ? scale * from[column] : 0;
        m = fmaxf(m, x[k]);
    }
    m = over_block(m, false);

    float sum = 0;
    for (int k = 0; k < 4; k++) {
        x[k] = expf(x[k] - m);
        sum += x[k];
    }
    sum = over_block(sum, true);

    for (int k = 0; k < 4; k++) {
        int column = threadIdx.x + k * THREADS;
        if (column < columns)
            to[column] = x[k] / sum;
    }
}
