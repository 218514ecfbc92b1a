// *total += in[0] + in[1] + … + in[n - 1], with one atomic operation for each block.

#define THREADS 256

extern "C" __global__ void sum(const float *in, float *total, int n)
{
    __shared__ float sums[THREADS];

    float mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        mine += in[i];
    sums[threadIdx.x] = mine;
    __syncthreads();

    for (int step = 1; step < THREADS; step *= 2) {
        int i = 2 * step * threadIdx.x;
        if (i < THREADS)
            sums[i] += sums[i + step];
        __syncthreads();
    }

    if (threadIdx.x == 0)
        atomicAdd(total, sums[0]);
}
