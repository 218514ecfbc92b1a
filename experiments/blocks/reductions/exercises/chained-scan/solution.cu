// out[i] = in[0] + … + in[i], in one pass: blocks wait for the sum of the tile before theirs.

#define THREADS 256
#define WARPS (THREADS / 32)
#define TILE 1024
#define PARTS (TILE / THREADS)

// The sum of this thread's value and those of all threads of the block before it.
__device__ unsigned int sum_so_far(unsigned int value)
{
    __shared__ unsigned int of_warp[WARPS];

    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (unsigned int step = 1; step < 32; step *= 2) {
        unsigned int left = __shfl_up_sync(0xFFFFFFFF, value, step);
        if (lane >= step)
            value += left;
    }
    if (lane == 31)
        of_warp[warp] = value;
    __syncthreads();
    for (unsigned int w = 0; w < warp; w++)
        value += of_warp[w];
    __syncthreads(); // it is called again
    return value;
}

extern "C" __global__ void scan(const unsigned int *in, unsigned int *out, unsigned int n,
                                unsigned int *ticket, unsigned long long *through)
{
    __shared__ unsigned int tile, before;
    __shared__ unsigned int of_part[PARTS];

    if (threadIdx.x == 0)
        tile = atomicAdd(ticket, 1);
    __syncthreads();
    unsigned int first = tile * TILE + threadIdx.x;

    // Each part of the tile is read by neighbours, and stays in registers.
    unsigned int sums[PARTS];
    for (int part = 0; part < PARTS; part++) {
        unsigned int i = first + part * THREADS;
        sums[part] = sum_so_far(i < n ? in[i] : 0);
        if (threadIdx.x == THREADS - 1)
            of_part[part] = sums[part];
    }
    __syncthreads();

    // Only this waits for another block: one thread, for one word, when all else is done.
    if (threadIdx.x == 0) {
        unsigned long long known = 1;
        if (tile > 0)
            while ((known = *(volatile unsigned long long *)&through[tile - 1]) == 0)
                ;
        before = known - 1;
        for (int part = 0; part < PARTS; part++)
            known += of_part[part];
        *(volatile unsigned long long *)&through[tile] = known;
    }
    __syncthreads();

    unsigned int sum = before;
    for (int part = 0; part < PARTS; part++) {
        unsigned int i = first + part * THREADS;
        if (i < n)
            out[i] = sum + sums[part];
        sum += of_part[part];
    }
}
