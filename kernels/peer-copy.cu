// Copies between two GPUs: the same kernel reads the other's memory or writes it, as its
// pointers say.

// ANCHOR: copy
// Each thread moves 16 bytes at a time, and has at most one load in flight: the store
// needs what the load brings, and the next load comes after it.
extern "C" __global__ void copy16(const uint4 *from, uint4 *to, size_t count)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (; i < count; i += step)
        to[i] = from[i];
}
// ANCHOR_END: copy

// The same with 4 bytes.
extern "C" __global__ void copy4(const unsigned int *from, unsigned int *to, size_t count)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (; i < count; i += step)
        to[i] = from[i];
}

// What is in word i of a source that begins with word `first` of all: different in each
// word of each GPU, and never 0.
__device__ unsigned int word(unsigned int first, size_t i)
{
    return (first + (unsigned int)i) * 2654435761u;
}

extern "C" __global__ void fill(unsigned int *memory, size_t count, unsigned int first)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < count; i += step)
        memory[i] = word(first, i);
}

// ANCHOR: differ
// Counts the words that are not as in that source.
extern "C" __global__ void differ(const unsigned int *memory, size_t count,
                                  unsigned int first, unsigned int *wrong)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int mine = 0;
    for (; i < count; i += step)
        mine += memory[i] != word(first, i);
    if (mine > 0)
        atomicAdd(wrong, mine);
}
// ANCHOR_END: differ

// ANCHOR: chase
// One thread walks through memory, from line to line of 128 bytes. The first word of a
// line tells which line comes next, so each hop waits for the one before.
extern "C" __global__ void chase(const unsigned int *memory, unsigned int *place,
                                 unsigned int hops)
{
    unsigned int line = *place;
    for (unsigned int i = 0; i < hops; i++)
        line = memory[(size_t)line * 32];
    *place = line;
}
// ANCHOR_END: chase

// Ties lines into one cycle: order[i] leads to order[i + 1].
extern "C" __global__ void tie(const unsigned int *order, unsigned int count,
                               unsigned int *memory)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        memory[(size_t)order[i] * 32] = order[i + 1 < count ? i + 1 : 0];
}
