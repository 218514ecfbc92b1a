// Threads without an element leave before the block meets.
extern "C" __global__ void first_difference(const int *a, const int *b, unsigned int n,
                                            int allowed, unsigned int *again)
{
    __shared__ unsigned int first;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (threadIdx.x == 0)
        first = n;
    __syncthreads();
    if (abs(a[i] - b[i]) > allowed)
        atomicMin(&first, i);
    __syncthreads();
    if (threadIdx.x == 0 && first < n)
        atomicMax(again, n - first);
}
