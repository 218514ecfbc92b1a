// One report for each block, but only of what its first warp has seen.
extern "C" __global__ void first_difference(const int *a, const int *b, unsigned int n,
                                            int allowed, unsigned int *again)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool differs = i < n && abs(a[i] - b[i]) > allowed;
    unsigned int mask = __ballot_sync(0xFFFFFFFF, differs);
    if (threadIdx.x < 32 && differs && threadIdx.x == __ffs(mask) - 1)
        atomicMax(again, n - i);
}
