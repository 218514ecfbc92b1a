// Right, and 31 of 32 warps have nothing to do.
extern "C" __global__ void list_free(const unsigned int *used, unsigned int n,
                                     unsigned int *free, unsigned int *count)
{
    unsigned int lane = threadIdx.x, found = 0;
    if (lane >= 32)
        return;
    for (unsigned int chunk = 0; chunk < n; chunk += 32) {
        unsigned int i = chunk + lane;
        bool is_free = i < n && used[i] == 0;
        unsigned int mask = __ballot_sync(0xFFFFFFFF, is_free);
        if (is_free)
            free[found + __popc(mask & ((1u << lane) - 1))] = i;
        found += __popc(mask);
    }
    if (lane == 0)
        *count = found;
}
