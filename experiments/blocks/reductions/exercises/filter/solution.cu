// out = the even words of `in`, in their order; *kept = how many there are.
//
// A block of 256 threads for each tile of 256 words; the last tile is not full. *ticket, *kept and
// all of `through`, which has a word for each tile, are 0 before.

#define THREADS 256
#define WARPS (THREADS / 32)

extern "C" __global__ void filter(const unsigned int *in, unsigned int *out, unsigned int n,
                                  unsigned int *kept, unsigned int *ticket, unsigned int *through)
{
    __shared__ unsigned int tile, before;
    __shared__ unsigned int of_warp[WARPS];

    if (threadIdx.x == 0)
        tile = atomicAdd(ticket, 1);
    __syncthreads();

    // The votes of a warp, and how many lanes before this one have said yes.
    unsigned int i = tile * THREADS + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned int word = i < n ? in[i] : 1;
    bool keeps = word % 2 == 0;
    unsigned int votes = __ballot_sync(0xFFFFFFFF, keeps);
    unsigned int place = __popc(votes & ((1u << lane) - 1));
    if (lane == 0)
        of_warp[warp] = __popc(votes);
    __syncthreads();

    // One thread waits for the tile before, for one word, which is 1 more than there are so far.
    if (threadIdx.x == 0) {
        unsigned int known = 1;
        if (tile > 0)
            while ((known = *(volatile unsigned int *)&through[tile - 1]) == 0)
                ;
        before = known - 1;
        for (int w = 0; w < WARPS; w++)
            known += of_warp[w];
        *(volatile unsigned int *)&through[tile] = known;
        if (tile == gridDim.x - 1)
            *kept = known - 1;
    }
    __syncthreads();

    place += before;
    for (unsigned int w = 0; w < warp; w++)
        place += of_warp[w];
    if (keeps)
        out[place] = word;
}
