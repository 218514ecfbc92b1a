// *again = n - i for the first i where a[i] and b[i] differ by more than `allowed`; it is 0 before
// the launch, and stays 0 if there is none.
//
// A thread for each element, 256 in a block.

extern "C" __global__ void first_difference(const int *a, const int *b, unsigned int n,
                                            int allowed, unsigned int *again)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && abs(a[i] - b[i]) > allowed)
        atomicMax(again, n - i);
}
