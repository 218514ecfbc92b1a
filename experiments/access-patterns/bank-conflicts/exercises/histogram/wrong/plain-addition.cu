// counts[v] += how often v occurs among values[0] to values[n - 1]. All values are below 16.

#define THREADS 256
#define VALUES 16

extern "C" __global__ void histogram(const unsigned *values, unsigned *counts, int n)
{
    // A row of 256 words for each value: whatever its value is, thread t counts in bank t % 32.
    __shared__ unsigned counters[VALUES][THREADS];

    for (int v = 0; v < VALUES; v++)
        counters[v][threadIdx.x] = 0;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
        counters[values[i]][threadIdx.x]++;
    __syncthreads();

    // Each of the eight warps adds up two rows. Its lanes read neighbours, and put their sums
    // together with shuffles.
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int v = warp; v < VALUES; v += THREADS / 32) {
        unsigned sum = 0;
        for (int t = lane; t < THREADS; t += 32)
            sum += counters[v][t];
        for (int step = 16; step > 0; step /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, step);
        if (lane == 0)
            counts[v] += sum;
    }
}
