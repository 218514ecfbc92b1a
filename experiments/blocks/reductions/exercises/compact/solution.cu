// free[0], free[1], … = all i with used[i] == 0, in order; *count = how many they are.

#define THREADS 1024
#define WARPS (THREADS / 32)

extern "C" __global__ void list_free(const unsigned int *used, unsigned int n,
                                     unsigned int *free, unsigned int *count)
{
    __shared__ unsigned int of_warp[WARPS];

    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned int found = 0; // in the chunks before; the same in all threads
    for (unsigned int chunk = 0; chunk < n; chunk += THREADS) {
        unsigned int i = chunk + threadIdx.x;
        bool is_free = i < n && used[i] == 0;

        // A bit for each lane: those below this one's are the lanes before it.
        unsigned int mask = __ballot_sync(0xFFFFFFFF, is_free);
        if (lane == 0)
            of_warp[warp] = __popc(mask);
        __syncthreads();

        unsigned int before = 0, all = 0;
        for (int w = 0; w < WARPS; w++) {
            before += w < warp ? of_warp[w] : 0;
            all += of_warp[w];
        }
        if (is_free)
            free[found + before + __popc(mask & ((1u << lane) - 1))] = i;
        found += all;
        __syncthreads(); // all have read `of_warp` before it changes
    }
    if (threadIdx.x == 0)
        *count = found;
}
