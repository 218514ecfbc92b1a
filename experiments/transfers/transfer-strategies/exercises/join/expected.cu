// What every word of `out` has to be.
extern "C" __global__ void expected(const float *in, const unsigned int *start, float *out,
                                    unsigned int pieces, unsigned int length)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pieces * length)
        out[i] = in[start[i / length] + i % length];
}
