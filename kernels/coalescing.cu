// Gathers: thread i reads element i * stride + offset and writes element i.
//
// The elements are unsigned integers where the chapter has floats: they move the same
// bytes, and only integers stay distinct over billions of elements, which the check of
// the result needs.

// ANCHOR: gather4
// One element of 4 bytes for each thread.
extern "C" __global__ void gather4(const unsigned int *in, unsigned int *out,
                                   size_t count, size_t stride, size_t offset)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = in[i * stride + offset];
}
// ANCHOR_END: gather4

// ANCHOR: resident
// The same with as many threads as the GPU holds at once, each of which takes element
// after element, one load at a time. So no thread has to be started during the work.
extern "C" __global__ void gather4_resident(const unsigned int *in, unsigned int *out,
                                            size_t count, size_t stride, size_t offset)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (; i < count; i += step)
        out[i] = in[i * stride + offset];
}
// ANCHOR_END: resident

// ANCHOR: gather16
// gather4 with elements of 16 bytes, which one instruction reads.
extern "C" __global__ void gather16(const uint4 *in, uint4 *out,
                                    size_t count, size_t stride, size_t offset)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = in[i * stride + offset];
}
// ANCHOR_END: gather16

// Fills `count` words so that word i holds i times an odd constant: every word of the
// first 2^32 is different, so a read from a wrong place shows.
extern "C" __global__ void fill(unsigned int *out, size_t count)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        out[i] = (unsigned int)i * 2654435761u;
}
