// Two kernels that say when each of their blocks ran. One nearly always waits, so that
// blocks on one multiprocessor do not disturb each other; one nearly always computes.
// Both repeat one rule, x becomes x * multiplier, so that the host knows what comes out:
// `chase` finds it in a table, `compute` works it out.

// ANCHOR: now
// Nanoseconds of a clock that all multiprocessors share, in steps of several.
__device__ unsigned long long now(void)
{
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}
// ANCHOR_END: now

// ANCHOR: chase
// Waits for memory: each load says where the next one goes. All threads of a block go
// the same way, so that a warp asks for one sector; the loads bypass the L1 cache.
extern "C" __global__ void chase(const unsigned int *next, unsigned int *out,
                                 unsigned int steps, unsigned long long *times)
{
    unsigned long long began = now();
    unsigned int place = 2 * blockIdx.x + 1;
    for (unsigned int i = 0; i < steps; i++)
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(place) : "l"(next + place));
    out[blockIdx.x * blockDim.x + threadIdx.x] = place * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        times[2 * blockIdx.x] = began;
        times[2 * blockIdx.x + 1] = now();
    }
}
// ANCHOR_END: chase

// ANCHOR: compute
// Computes: eight products in flight in each thread, so that one block of 256 threads
// keeps a multiprocessor's arithmetic units busy.
extern "C" __global__ void compute(const unsigned int *next, unsigned int *out,
                                   unsigned int steps, unsigned long long *times)
{
    unsigned long long began = now();
    unsigned int factor = next[1];
    unsigned int thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int x[8], sum = 0;
    for (int k = 0; k < 8; k++)
        x[k] = thread * 8 + k;
    for (unsigned int i = 0; i < steps; i++)
        for (int k = 0; k < 8; k++)
            x[k] *= factor;
    for (int k = 0; k < 8; k++)
        sum += x[k];
    out[thread] = sum;
    if (threadIdx.x == 0) {
        times[2 * blockIdx.x] = began;
        times[2 * blockIdx.x + 1] = now();
    }
}
// ANCHOR_END: compute

// The smallest step in which the clock moves, in nanoseconds.
extern "C" __global__ void clock_step(unsigned long long *smallest)
{
    if (threadIdx.x > 0)
        return;
    unsigned long long least = ~0ull, last = now();
    for (int changes = 0; changes < 100;) {
        unsigned long long time = now();
        if (time == last)
            continue;
        least = min(least, time - last);
        last = time;
        changes++;
    }
    *smallest = least;
}
