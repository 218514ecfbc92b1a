// Reads from shared memory, in whatever pattern the host asks for.

// 32 rows of at most 65 elements: the largest tile that the experiment lays out.
const unsigned int TILE = 32 * 65;

__device__ unsigned int total(unsigned int v) { return v; }
__device__ unsigned int total(uint2 v) { return v.x + v.y; }
__device__ unsigned int total(uint4 v) { return v.x + v.y + v.z + v.w; }

// ANCHOR: read
// Lane l of every warp reads the elements start[l], start[l] + 1, … start[l] + 31 of
// the tile, and does so `rounds` times. If start[l] is the beginning of row l, that is
// a column at a time. `step` is 0; the compiler cannot know that, so it has to read
// again in each round.
template <class Element>
__device__ void read(const unsigned int *start, unsigned int *out,
                     unsigned int rounds, unsigned int step)
{
    __shared__ Element tile[TILE];
    unsigned int *words = (unsigned int *)tile;
    for (unsigned int i = threadIdx.x; i < sizeof(tile) / 4; i += blockDim.x)
        words[i] = i * 2654435761u;
    __syncthreads();

    unsigned int at = start[threadIdx.x % 32];
    unsigned int sum = 0;
    for (unsigned int round = 0; round < rounds; round++) {
#pragma unroll
        for (int column = 0; column < 32; column++)
            sum += total(tile[at + column]);
        at += step;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// ANCHOR_END: read

extern "C" __global__ void read4(const unsigned int *start, unsigned int *out,
                                 unsigned int rounds, unsigned int step)
{
    read<unsigned int>(start, out, rounds, step);
}

extern "C" __global__ void read8(const unsigned int *start, unsigned int *out,
                                 unsigned int rounds, unsigned int step)
{
    read<uint2>(start, out, rounds, step);
}

extern "C" __global__ void read16(const unsigned int *start, unsigned int *out,
                                  unsigned int rounds, unsigned int step)
{
    read<uint4>(start, out, rounds, step);
}

// ANCHOR: clock
// Waits for a number of cycles of the multiprocessor's clock. Timed like the others,
// it tells how long a cycle is.
extern "C" __global__ void wait(unsigned int *out, long long cycles)
{
    long long start = clock64(), passed;
    do
        passed = clock64() - start;
    while (passed < cycles);
    out[blockIdx.x * blockDim.x + threadIdx.x] = (unsigned int)(passed / cycles);
}
// ANCHOR_END: clock
