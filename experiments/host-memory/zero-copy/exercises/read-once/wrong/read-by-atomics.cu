// out[row][i] = in[row][i] - the mean of in[row]. `in` is memory of the host.
//
// A block of 256 threads for each row; a row has at most 4096 columns.

#define THREADS 256

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
    for (int warp = 0; warp < THREADS / 32; warp++)
        sum += of_warp[warp];
    return sum;
}

extern "C" __global__ void centre(float *in, float *out, int columns)
{
    int row = blockIdx.x * columns;

    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += THREADS)
        sum += in[row + i];
    float mean = sum_of_block(sum) / columns;

    for (int i = threadIdx.x; i < columns; i += THREADS)
        out[row + i] = atomicAdd(&in[row + i], 0.0f) - mean;
}
