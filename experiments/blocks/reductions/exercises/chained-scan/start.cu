// out[i] = in[0] + … + in[i]. No sum is too large for 32 bits.
//
// A block of 256 threads for each tile of 1024 words; the last tile is not full. Before the launch
// *ticket and all of `through` are 0. After it, *ticket is the number of tiles, and through[t] is
// 1 + the sum of all words through tile t.

#define THREADS 256
#define TILE 1024

extern "C" __global__ void scan(const unsigned int *in, unsigned int *out, unsigned int n,
                                unsigned int *ticket, unsigned long long *through)
{
    __shared__ unsigned int tile, before;
    __shared__ unsigned int words[TILE];

    // Tiles in the order in which blocks begin: whoever has one knows that all before it are at
    // work. (The numbers of blocks do not promise that.)
    if (threadIdx.x == 0) {
        tile = atomicAdd(ticket, 1);
        before = 0;
    }
    __syncthreads();
    unsigned int first = tile * TILE;

    // All that comes before the tile.
    unsigned int sum = 0;
    for (unsigned int i = threadIdx.x; i < first; i += THREADS)
        sum += in[i];
    atomicAdd(&before, sum);

    for (unsigned int i = threadIdx.x; i < TILE; i += THREADS)
        words[i] = first + i < n ? in[first + i] : 0;
    __syncthreads();

    // The tile.
    if (threadIdx.x == 0) {
        sum = before;
        for (unsigned int i = 0; i < TILE; i++) {
            sum += words[i];
            words[i] = sum;
        }
        through[tile] = sum + 1;
    }
    __syncthreads();

    for (unsigned int i = threadIdx.x; i < TILE && first + i < n; i += THREADS)
        out[first + i] = words[i];
}
