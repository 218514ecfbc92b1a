// Kernels that touch managed memory. They know nothing of it: a pointer is a pointer.

// ANCHOR: gather
// Reads every `stride`-th word: all at stride 1, one in each 4 KiB at stride 1024.
extern "C" __global__ void gather(const unsigned int *in, unsigned int *out,
                                  size_t count, size_t stride)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = in[i * stride];
}
// ANCHOR_END: gather

// ANCHOR: add_one
// Reads and writes every word in place, as the chapter's kernel does.
extern "C" __global__ void add_one(unsigned int *data, size_t count)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] += 1;
}
// ANCHOR_END: add_one
