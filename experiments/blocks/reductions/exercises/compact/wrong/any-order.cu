// Each thread takes the next place, in whatever order the warps come.
extern "C" __global__ void list_free(const unsigned int *used, unsigned int n,
                                     unsigned int *free, unsigned int *count)
{
    __shared__ unsigned int found;
    if (threadIdx.x == 0)
        found = 0;
    __syncthreads();
    for (unsigned int i = threadIdx.x; i < n; i += blockDim.x)
        if (used[i] == 0)
            free[atomicAdd(&found, 1)] = i;
    __syncthreads();
    if (threadIdx.x == 0)
        *count = found;
}
