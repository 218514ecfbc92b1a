// Two kernels whose blocks take a known time. Both repeat one rule, x becomes x * multiplier,
// so that the host knows what comes out; and the first block notes when it ran.

// Nanoseconds of a clock that all multiprocessors share, in steps of several.
__device__ unsigned long long now(void)
{
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}

// ANCHOR: kernels
// Waits for memory: each load says where the next one goes. Blocks that do this on one
// multiprocessor do not disturb each other.
extern "C" __global__ void chase(const unsigned int *next, unsigned int *out,
                                 unsigned int entries, unsigned int steps,
                                 unsigned long long *times)
{
    unsigned long long began = now();
    unsigned int place = (2 * blockIdx.x + 1) % entries;
    for (unsigned int i = 0; i < steps; i++)
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(place) : "l"(next + place));
    out[blockIdx.x * blockDim.x + threadIdx.x] = place + threadIdx.x;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        times[0] = began;
        times[1] = now();
    }
}

// Computes: blocks that do this on one multiprocessor share its arithmetic units.
extern "C" __global__ void compute(const unsigned int *next, unsigned int *out,
                                   unsigned int entries, unsigned int steps,
                                   unsigned long long *times)
{
    unsigned long long began = now();
    unsigned int x = 2 * blockIdx.x + 1, multiplier = next[1];
    for (unsigned int i = 0; i < steps; i++)
        x *= multiplier;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x % entries + threadIdx.x;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        times[0] = began;
        times[1] = now();
    }
}
// ANCHOR_END: kernels
