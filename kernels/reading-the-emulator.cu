// Two kernels to read counts and messages by.

// Thread i reads element i * step.
// ANCHOR: every
extern "C" __global__ void every(
    const unsigned int *in, unsigned int *out, unsigned int step)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i * step];
}
// ANCHOR_END: every

// In each block of 256, every element moves one place to the right, by way of shared memory.
// A thread reads what its neighbour has written, so that one has to have written first. Without
// `wait` no thread waits.
// ANCHOR: shift
extern "C" __global__ void shift(
    const unsigned int *in, unsigned int *out, unsigned int wait)
{
    __shared__ unsigned int tile[256];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = in[i];
    if (wait)
        __syncthreads();
    out[i] = tile[threadIdx.x == 0 ? 0 : threadIdx.x - 1];
}
// ANCHOR_END: shift
