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

    if (threadIdx.x == 0) {
        float sum = 0;
        for (int i = 0; i < THREADS; i++)
            sum += sums[i];
        atomicAdd(total, sum);
    }
}
