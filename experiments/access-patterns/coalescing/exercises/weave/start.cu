// out[8 * k + c] = sample k of channel c, which is in[c * n + k].
//
// A thread for each sample of each channel, in blocks of 256.

#define CHANNELS 8

extern "C" __global__ void weave(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= CHANNELS * n)
        return;

    int c = i / n, k = i % n;
    out[CHANNELS * k + c] = in[c * n + k];
}
