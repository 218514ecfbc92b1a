// counts[v] += how often v occurs among values[0] to values[n - 1]. All values are below 16.
//
// Blocks have 256 threads. There are 16, or only one, whatever n is.

#define THREADS 256
#define VALUES 16

extern "C" __global__ void histogram(const unsigned *values, unsigned *counts, int n)
{
    __shared__ unsigned counters[THREADS][VALUES];

    // A thread's own counters: no other thread touches them before the barrier.
    for (int v = 0; v < VALUES; v++)
        counters[threadIdx.x][v] = 0;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
        counters[threadIdx.x][values[i]]++;
    __syncthreads();

    // Thread v adds up what all threads have counted of value v.
    int v = threadIdx.x;
    if (v < VALUES) {
        unsigned sum = 0;
        for (int t = 0; t < THREADS; t++)
            sum += counters[t][v];
        atomicAdd(&counts[v], sum);
    }
}
