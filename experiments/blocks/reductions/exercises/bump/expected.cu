// All words that thread i has asked for are still its own in the end.
extern "C" __global__ void expected(const unsigned int *sizes, unsigned int *kept, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        kept[i] = sizes[i];
}

// Nothing of the heap is lost.
extern "C" __global__ void sum(const unsigned int *sizes, unsigned int *top, unsigned int n)
{
    if (blockIdx.x * blockDim.x + threadIdx.x > 0)
        return;
    unsigned int all = 0;
    for (unsigned int i = 0; i < n; i++)
        all += sizes[i];
    *top = all;
}
