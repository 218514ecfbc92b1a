// compute: 9.0
//
// A step whose launch need not wait until the step before has ended.

// Nanoseconds of a clock that all multiprocessors share, in steps of several.
__device__ unsigned long long now(void)
{
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}

// ANCHOR: dependent
// `stamped` of kernels/launch-overhead.cu, for launches that may start early. Its block is there
// already when it waits for the kernel before to end, and that kernel's writes to be seen. Then
// it lets the next one start, whose block waits in turn.
extern "C" __global__ void dependent(unsigned int *x, unsigned long long *times,
                                     unsigned int multiplier, unsigned int steps,
                                     unsigned int number)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
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
// ANCHOR_END: dependent
