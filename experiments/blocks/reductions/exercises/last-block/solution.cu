// *sum = the sum of in[0] to in[n - 1].
//
// The block that is done last adds up the parts of all.

#define THREADS 256
#define WARPS (THREADS / 32)

// The sum of all threads' values, for thread 0.
__device__ float sum_of_block(float value)
{
    __shared__ float of_warp[WARPS];
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_down_sync(0xFFFFFFFF, value, step);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0;
    if (threadIdx.x == 0)
        for (int warp = 0; warp < WARPS; warp++)
            sum += of_warp[warp];
    __syncthreads(); // it may be called again
    return sum;
}

extern "C" __global__ void add_up(const float *in, int n, float *parts, unsigned int *done,
                                  float *sum)
{
    __shared__ bool is_last;

    float mine = 0;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
        mine += in[i];
    float part = sum_of_block(mine);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = part;
        __threadfence(); // the part first, then the count
        is_last = atomicAdd(done, 1) == gridDim.x - 1;
    }
    __syncthreads();

    if (is_last) {
        float all = sum_of_block(threadIdx.x < gridDim.x ? parts[threadIdx.x] : 0);
        if (threadIdx.x == 0) {
            *sum = all;
            *done = 0; // for the next launch
        }
    }
}
