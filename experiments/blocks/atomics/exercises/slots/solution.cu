// slot[i] = a slot that no other thread has: thread i takes one of word i / 8, of which 8 are
// free. Bit b of taken[w] is 1 if slot 32 * w + b is taken.

extern "C" __global__ void take(unsigned int *taken, unsigned int *slot, unsigned int words)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int word = i / 8;
    if (word >= words)
        return;
    // volatile, because others change the word meanwhile
    unsigned int before = *(volatile unsigned int *)&taken[word], bit;
    do {
        bit = __ffs(~before) - 1; // the first that is 0, as far as we know
        before = atomicOr(&taken[word], 1u << bit);
    } while (before >> bit & 1); // another thread was first, and we know more now
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
