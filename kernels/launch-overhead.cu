// Steps so small that starting a kernel for one costs more than doing it.

// ANCHOR: step
// Multiplies every element `steps` times: once for a step, or often for many at once.
extern "C" __global__ void step(unsigned int *x, unsigned int count,
                                unsigned int multiplier, unsigned int steps)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    unsigned int value = x[i];
    for (unsigned int k = 0; k < steps; k++)
        value *= multiplier;
    x[i] = value;
}
// ANCHOR_END: step

// ANCHOR: stamped
// Nanoseconds of a clock that all multiprocessors share, in steps of several.
__device__ unsigned long long now(void)
{
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}

// The same for one block. Kernel `number` of a chain notes when its first thread began
// and when all were done.
extern "C" __global__ void stamped(unsigned int *x, unsigned long long *times,
                                   unsigned int multiplier, unsigned int steps,
                                   unsigned int number)
{
    unsigned long long start = now();
    unsigned int value = x[threadIdx.x];
    for (unsigned int k = 0; k < steps; k++)
        value *= multiplier;
    x[threadIdx.x] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        times[2 * number] = start;
        times[2 * number + 1] = now();
    }
}
// ANCHOR_END: stamped
