// Work that takes as long as it is told to. Look at the loop: each step needs the one
// before, so no thread can hurry, and the host can compute the same in one step
// (see `check` in gpu.rs).

// ANCHOR: chain
extern "C" __global__ void chain(const unsigned int *in, unsigned int *out, size_t count,
                                 unsigned int steps, unsigned int factor)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    unsigned int x = in[i];
    for (unsigned int n = 0; n < steps; n++)
        x = x * factor + 1;
    out[i] = x;
}
// ANCHOR_END: chain
