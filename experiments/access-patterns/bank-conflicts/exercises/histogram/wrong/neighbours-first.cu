// counts[v] += how often v occurs: at the end neighbours are added up first, and most lanes idle.

#define THREADS 256
#define VALUES 16

extern "C" __global__ void histogram(const unsigned *values, unsigned *counts, int n)
{
    __shared__ unsigned counters[VALUES][THREADS];

    for (int v = 0; v < VALUES; v++)
        counters[v][threadIdx.x] = 0;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
        counters[values[i]][threadIdx.x]++;
    __syncthreads();

    for (int step = 1; step < THREADS; step *= 2) {
        if (threadIdx.x % (2 * step) == 0)
            for (int v = 0; v < VALUES; v++)
                counters[v][threadIdx.x] += counters[v][threadIdx.x + step];
        __syncthreads();
    }

    if (threadIdx.x < VALUES)
        atomicAdd(&counts[threadIdx.x], counters[threadIdx.x][0]);
}
