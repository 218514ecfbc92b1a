// begin[i] = where in the heap thread i has sizes[i] words of its own. *top is 0 before.
//
// A thread for each size, 256 in a block.

extern "C" __global__ void allocate(const unsigned int *sizes, unsigned int *begin,
                                    unsigned int *top, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        begin[i] = atomicAdd(top, sizes[i]);
}

// ------------------------------------------------- This is for the check: leave it as it is.

// Each thread writes its number into all of its words.
extern "C" __global__ void fill(const unsigned int *sizes, const unsigned int *begin,
                                unsigned int *heap, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int size = i < n ? sizes[i] : 0, first = i < n ? begin[i] : 0;
    for (unsigned int word = 0; word < size; word++)
        heap[first + word] = i;
}

// kept[i] = how many words of thread i still have its number.
extern "C" __global__ void look(const unsigned int *sizes, const unsigned int *begin,
                                const unsigned int *heap, unsigned int *kept, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned int count = 0, size = sizes[i], first = begin[i];
    for (unsigned int word = 0; word < size; word++)
        count += heap[first + word] == i;
    kept[i] = count;
}
