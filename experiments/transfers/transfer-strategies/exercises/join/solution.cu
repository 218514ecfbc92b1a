// out[p * length + w] = in[start[p] + w], a thread for each word of `out`.

extern "C" __global__ void join(const float *in, const unsigned int *start, float *out,
                                unsigned int pieces, unsigned int length)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pieces * length)
        return;
    // Neighbours have neighbouring words, mostly of one piece. They all read the same word of
    // `start`, which is one sector.
    unsigned int piece = i / length, w = i % length;
    out[i] = in[start[piece] + w];
}
