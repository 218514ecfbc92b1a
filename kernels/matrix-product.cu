// TODO(author): what this kernel does, and what a reader should look at.

// ANCHOR: copy
extern "C" __global__ void copy(const unsigned int *in, unsigned int *out, size_t count)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = in[i];
}
// ANCHOR_END: copy
