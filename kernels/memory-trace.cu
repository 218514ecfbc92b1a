// Work of any length on a buffer, and a check of it that needs no copy to the host.

// What word i holds after the work of `turn`: i times an odd constant, and the turn. So
// all words differ, and each from what an earlier turn left there.
__device__ unsigned int expected(size_t i, unsigned int turn)
{
    return (unsigned int)i * 2654435761u + turn;
}

// ANCHOR: kernels
// The work: element by element, `passes` times over.
extern "C" __global__ void work(unsigned int *data, size_t count, unsigned int turn,
                                size_t passes)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    size_t thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (size_t pass = 0; pass < passes; pass++)
        for (size_t i = thread; i < count; i += step)
            data[i] = expected(i, turn);
}

// Adds to `right` how many of the words are as `work` should have left them.
extern "C" __global__ void count_right(const unsigned int *data, size_t count,
                                       unsigned int turn, unsigned long long *right)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    unsigned long long mine = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        mine += data[i] == expected(i, turn);
    atomicAdd(right, mine);
}
// ANCHOR_END: kernels
