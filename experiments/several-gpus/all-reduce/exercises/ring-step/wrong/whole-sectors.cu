// One step of an all-reduce in a ring, by one rank. `mine` is its vector of n words, `left` that of
// rank - 1 (of rank 0: the last rank's). Steps count from 0.

// Where chunk `chunk` begins; it ends where the next one begins. The last one ends with the vector,
// and lengths differ by one word at most. (The product can be larger than an int.)
__device__ int begin_of(int chunk, int n, int ranks)
{
    return chunk == ranks ? n : (long long)n * chunk / ranks / 8 * 8; // the last one is longer
}

// Adds the chunk that the left neighbour has added to in the step before.
extern "C" __global__ void add_step(float *mine, const float *left, int n, int ranks, int rank,
                                    int step)
{
    int chunk = (rank - 1 - step + ranks) % ranks;
    int i = begin_of(chunk, n, ranks) + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < begin_of(chunk + 1, n, ranks))
        mine[i] += left[i];
}

// Copies the chunk that the left neighbour has completed or copied in the step before.
extern "C" __global__ void copy_step(float *mine, const float *left, int n, int ranks, int rank,
                                     int step)
{
    int chunk = (rank - step + ranks) % ranks;
    int i = begin_of(chunk, n, ranks) + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < begin_of(chunk + 1, n, ranks))
        mine[i] = left[i];
}
