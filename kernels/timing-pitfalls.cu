// Two ordinary kernels, to be timed correctly and wrongly.

// ANCHOR: sum
// Reads `count` vectors of 16 bytes, `passes` times over. Each thread keeps the sum of
// what it has read, so that no read can be left out.
extern "C" __global__ void sum(const uint4 *in, unsigned int *sums, size_t count,
                               unsigned int passes)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    size_t thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int sum = 0;
    for (unsigned int pass = 0; pass < passes; pass++)
        for (size_t i = thread; i < count; i += step) {
            uint4 v = in[i];
            sum += v.x + v.y + v.z + v.w;
        }
    sums[thread] = sum;
}
// ANCHOR_END: sum

// ANCHOR: gather
// Thread i moves element i * stride to place i, if i is below `count`.
extern "C" __global__ void gather(const unsigned int *in, unsigned int *out, size_t count,
                                  size_t stride)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = in[i * stride];
}
// ANCHOR_END: gather

// Word i becomes i times an odd constant: all words differ.
extern "C" __global__ void fill(unsigned int *out, size_t count)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        out[i] = (unsigned int)i * 2654435761u;
}
