// out[8 * k + c] = sample k of channel c, which is in[c * n + k].

#define CHANNELS 8

extern "C" __global__ void weave(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= CHANNELS * n)
        return;

    // Thread i writes word i. A warp's reads are four neighbours of each channel.
    int c = i % CHANNELS, k = i / CHANNELS;
    out[CHANNELS * k + c] = in[c * n + k];
}
