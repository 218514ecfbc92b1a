// A use of memory: every word is written.

// ANCHOR: fill
// Word i becomes i times an odd constant plus `round`. So what an earlier round left in
// memory that is used again is never right.
extern "C" __global__ void fill(unsigned int *words, size_t count, unsigned int round)
{
    size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    size_t threads = (size_t)gridDim.x * blockDim.x;
    for (size_t i = first; i < count; i += threads)
        words[i] = (unsigned int)i * 2654435761u + round;
}
// ANCHOR_END: fill
