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

    // The upper half is added to the lower one: 256 sums become 128, 64, … 1. Neighbours read
    // neighbours, and all threads reach the barrier, those too that have nothing to add.
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }

    if (threadIdx.x == 0)
        atomicAdd(total, sums[0]);
}
