// slot[i] = a slot that no other thread has: thread i takes one of word i / 8, of which 8 are
// free. Bit b of taken[w] is 1 if slot 32 * w + b is taken.
//
// 8 threads for each word, 128 in a block.

extern "C" __global__ void take(unsigned int *taken, unsigned int *slot, unsigned int words)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int word = i / 8;
    if (word >= words)
        return;
    unsigned int bit = __ffs(~taken[word]) - 1; // the first that is 0
    taken[word] |= 1u << bit;
    slot[i] = word * 32 + bit;
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
