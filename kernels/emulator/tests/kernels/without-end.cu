// Loops that never end although something happens in each turn.

extern "C" __global__ void stores(volatile unsigned int *out, unsigned int step)
{
    for (unsigned int i = 0; i < 100; i += step) // step is 0
        out[threadIdx.x] = i;
}

extern "C" __global__ void barriers(unsigned int *out, unsigned int step)
{
    __shared__ volatile unsigned int turn;
    turn = 0;
    do {
        __syncthreads();
        if (threadIdx.x == 0)
            turn += step;
        __syncthreads();
    } while (turn < 3);
    out[threadIdx.x] = turn;
}

extern "C" __global__ void atomics(unsigned int *count)
{
    while (atomicAdd(count, 2) != 7) // it is even
        ;
}

extern "C" __global__ void prints(unsigned int step)
{
    for (unsigned int i = 0; i < 100; i += step)
        printf("thread %u\n", threadIdx.x);
}

// It ends.
extern "C" __global__ void prints_lines(unsigned int lines)
{
    for (unsigned int i = 0; i < lines; i++)
        printf("block %4u, line %7u ä\n", blockIdx.x, i);
}

extern "C" __global__ void wide_number()
{
    printf("%99999d and %.99999f", 5, 0.5);
}

extern "C" __global__ void large_array(unsigned int *out, unsigned int at)
{
    unsigned int all[256 << 10];
    for (unsigned int i = 0; i < 256 << 10; i++)
        all[i] = out[i & at];
    out[threadIdx.x] = all[at];
}

// Two arrays of 100 KiB and one of 300 KiB, of which a thread has two at a time.
__device__ __noinline__ unsigned int first(unsigned int at, unsigned int value)
{
    unsigned int all[25 << 10];
    for (unsigned int i = 0; i <= at; i++)
        all[(i * 7) % (25 << 10)] = value + i;
    return all[at * 7 % (25 << 10)];
}

__device__ __noinline__ unsigned int second(unsigned int at, unsigned int value)
{
    unsigned int all[75 << 10];
    for (unsigned int i = 0; i <= at; i++)
        all[(i * 3) % (75 << 10)] = value + first(i, value);
    return all[at * 3 % (75 << 10)];
}

extern "C" __global__ void arrays_in_functions(unsigned int *out, unsigned int at)
{
    unsigned int value = first(at, threadIdx.x);
    out[threadIdx.x] = value + second(at, value);
}
