// *again = n - i for the first i where a[i] and b[i] differ by more than `allowed`.

#define WARPS 8
#define NONE 32

extern "C" __global__ void first_difference(const int *a, const int *b, unsigned int n,
                                            int allowed, unsigned int *again)
{
    __shared__ unsigned int masks[WARPS];

    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool differs = i < n && abs(a[i] - b[i]) > allowed;

    // A bit for each lane, so a warp knows its first difference without any memory.
    unsigned int mask = __ballot_sync(0xFFFFFFFF, differs);
    if (threadIdx.x % 32 == 0)
        masks[threadIdx.x / 32] = mask;
    __syncthreads();

    // The first warp that has one tells.
    if (threadIdx.x == 0)
        for (int warp = 0; warp < WARPS; warp++)
            if (masks[warp] != 0) {
                unsigned int lane = __ffs(masks[warp]) - 1;
                atomicMax(again, n - (i + warp * 32 + lane));
                break;
            }
}
