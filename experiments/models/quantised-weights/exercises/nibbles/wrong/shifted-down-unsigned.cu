// out[i] = scales[i / group] * weight i, for i from 0 to n - 1. Weight i is 4 bits of word
// i / 8, the first weight in the lowest bits: a number from -8 to 7.

extern "C" __global__ void unpack(const unsigned *words, const float *scales, float *out,
                                  int n, int group)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    unsigned weight = words[i / 8] << (28 - i % 8 * 4) >> 28;
    out[i] = scales[i / group] * (float)(int)weight;
}
