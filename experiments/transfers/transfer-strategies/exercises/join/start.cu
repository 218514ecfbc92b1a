// out[p * length + w] = in[start[p] + w], for each of `pieces` pieces and its `length` words w.
//
// As many threads as `out` has words, 256 in a block.

extern "C" __global__ void join(const float *in, const unsigned int *start, float *out,
                                unsigned int pieces, unsigned int length)
{
    unsigned int piece = blockIdx.x * blockDim.x + threadIdx.x;
    if (piece < pieces)
        for (unsigned int w = 0; w < length; w++)
            out[piece * length + w] = in[start[piece] + w];
}
