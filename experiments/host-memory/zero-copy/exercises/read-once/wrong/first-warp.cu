// out[row][i] = in[row][i] - the mean of in[row]. `in` is memory of the host.
// Each row is read once, and waits in shared memory until its mean is known.

#define THREADS 256
#define MOST_COLUMNS 4096

// The sum of all threads' values, for all threads of the block.
__device__ float sum_of_block(float value)
{
    __shared__ float of_warp[THREADS / 32];
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(0xFFFFFFFF, value, step);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0;
    for (int warp = 0; warp < 1; warp++)
        sum += of_warp[warp];
    return sum;
}

extern "C" __global__ void centre(const float *in, float *out, int columns)
{
    // 16 KiB of the multiprocessor's own memory: the longest row fits.
    __shared__ float kept[MOST_COLUMNS];
    int row = blockIdx.x * columns;

    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += THREADS) {
        kept[i] = in[row + i];
        sum += kept[i];
    }
    float mean = sum_of_block(sum) / columns;

    for (int i = threadIdx.x; i < columns; i += THREADS)
        out[row + i] = kept[i] - mean;
}
