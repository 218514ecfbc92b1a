// counts[v] += how often v occurs among values[0] to values[n - 1]: a counter for each value.

#define THREADS 256
#define VALUES 16

extern "C" __global__ void histogram(const unsigned *values, unsigned *counts, int n)
{
    __shared__ unsigned counters[VALUES];

    if (threadIdx.x < VALUES)
        counters[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
        atomicAdd(&counters[values[i]], 1);
    __syncthreads();

    if (threadIdx.x < VALUES)
        atomicAdd(&counts[threadIdx.x], counters[threadIdx.x]);
}
