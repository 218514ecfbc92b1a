// Work of any length: each thread loads one word, puts it `rounds` times through
// x → x·a + b, and stores it. The host knows the result without doing the rounds, because
// they add up to one step of the same form; the compiler does not know a and b, so the GPU
// does them all.

// ANCHOR: work
extern "C" __global__ void work(const unsigned int *in, unsigned int *out, size_t count,
                                unsigned int rounds, unsigned int a, unsigned int b)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    unsigned int x = in[i];
#pragma unroll 16
    for (unsigned int k = 0; k < rounds; k++)
        x = x * a + b;
    out[i] = x;
}
// ANCHOR_END: work
