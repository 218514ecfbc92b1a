// Warps take places in whatever order they come, though no warp is a chunk ahead.
extern "C" __global__ void list_free(const unsigned int *used, unsigned int n,
                                     unsigned int *free, unsigned int *count)
{
    __shared__ unsigned int found;
    unsigned int lane = threadIdx.x % 32;
    if (threadIdx.x == 0)
        found = 0;
    __syncthreads();
    for (unsigned int chunk = 0; chunk < n; chunk += blockDim.x) {
        unsigned int i = chunk + threadIdx.x;
        bool is_free = i < n && used[i] == 0;
        unsigned int mask = __ballot_sync(0xFFFFFFFF, is_free), place = 0;
        if (lane == 0)
            place = atomicAdd(&found, __popc(mask));
        place = __shfl_sync(0xFFFFFFFF, place, 0);
        if (is_free)
            free[place + __popc(mask & ((1u << lane) - 1))] = i;
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *count = found;
}
