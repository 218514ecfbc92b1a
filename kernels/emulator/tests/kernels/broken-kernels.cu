// Kernels that are wrong, each in one way. examples/broken-kernels.rs runs them on the
// emulated GPU.

// ANCHOR: out_of_bounds
// The last block has more threads than elements are left.
extern "C" __global__ void out_of_bounds(const unsigned int *in, unsigned int *out,
                                         unsigned int count)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + 1; // missing: if (i < count)
}
// ANCHOR_END: out_of_bounds

// ANCHOR: past_the_tile
// Adds to each element of a block the one behind it.
extern "C" __global__ void past_the_tile(const unsigned int *in, unsigned int *out)
{
    __shared__ unsigned int tile[256];
    unsigned int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    out[t] = tile[t] + tile[t + 1]; // the last thread: tile[256]
}
// ANCHOR_END: past_the_tile

// ANCHOR: misaligned
// Copies four elements at a time, and leaves out the first.
extern "C" __global__ void misaligned(const unsigned int *in, uint4 *out)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = *(const uint4 *)(in + 1 + 4 * i); // 4 bytes past a multiple of 16
}
// ANCHOR_END: misaligned

// ANCHOR: unwritten_total
// Adds up all elements. The host has allocated `total`, and not set it to zero.
extern "C" __global__ void unwritten_total(const unsigned int *in, unsigned int *total)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(total, in[i]);
}
// ANCHOR_END: unwritten_total

// ANCHOR: unwritten_edge
// The same as past_the_tile, with room for one element more, which no thread loads.
extern "C" __global__ void unwritten_edge(const unsigned int *in, unsigned int *out)
{
    __shared__ unsigned int tile[257];
    unsigned int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    out[t] = tile[t] + tile[t + 1];
}
// ANCHOR_END: unwritten_edge

// ANCHOR: missing_barrier
// Adds up the elements of a block in steps, each with half as many threads.
extern "C" __global__ void missing_barrier(const unsigned int *in, unsigned int *sum)
{
    __shared__ unsigned int tile[256];
    unsigned int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    for (unsigned int half = 128; half > 0; half /= 2) // no __syncthreads() at a step's end
        if (t < half)
            tile[t] += tile[t + half];
    if (t == 0)
        *sum = tile[0];
}
// ANCHOR_END: missing_barrier

// ANCHOR: barrier_not_reached
// Subtracts the block's first element. Threads without an element leave before the barrier.
extern "C" __global__ void barrier_not_reached(const unsigned int *in, unsigned int *out,
                                               unsigned int count)
{
    __shared__ unsigned int first;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    if (threadIdx.x == 0)
        first = in[i];
    __syncthreads();
    out[i] = in[i] - first;
}
// ANCHOR_END: barrier_not_reached

// ANCHOR: shuffle_from_outside
// Adds up the elements of a warp. Threads without an element have left.
extern "C" __global__ void shuffle_from_outside(const unsigned int *in, unsigned int *sum,
                                                unsigned int count)
{
    if (threadIdx.x >= count)
        return;
    unsigned int value = in[threadIdx.x];
    for (unsigned int distance = 16; distance > 0; distance /= 2)
        value += __shfl_down_sync(0xffffffff, value, distance);
    if (threadIdx.x == 0)
        *sum = value;
}
// ANCHOR_END: shuffle_from_outside

// ANCHOR: never_unlocked
// Each thread takes the lock, counts, and keeps it.
extern "C" __global__ void never_unlocked(unsigned int *lock, volatile unsigned int *count)
{
    while (atomicCAS(lock, 0, 1) != 0)
        ;
    *count = *count + 1; // missing: __threadfence(); atomicExch(lock, 0)
}
// ANCHOR_END: never_unlocked
