// The first lane that differs tells, in each warp.
extern "C" __global__ void first_difference(const int *a, const int *b, unsigned int n,
                                            int allowed, unsigned int *again)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool differs = i < n && abs(a[i] - b[i]) > allowed;
    unsigned int mask = __ballot_sync(0xFFFFFFFF, differs);
    if (differs && threadIdx.x % 32 == __ffs(mask) - 1)
        atomicMax(again, n - i);
}
