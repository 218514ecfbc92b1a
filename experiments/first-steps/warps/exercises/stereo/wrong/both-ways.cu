// Scrambles samples: computes both ways, and keeps one.

extern "C" __global__ void scramble(
    const unsigned int *in, unsigned int *out, unsigned int count, unsigned int steps)
{
    unsigned int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= count)
        return;
    unsigned int left = in[i], right = left;
    for (unsigned int step = 0; step < steps; step++) {
        left ^= left << 13;
        left ^= left >> 17;
        left ^= left << 5;
        right ^= right >> 7;
        right += right << 9;
        right ^= right >> 11;
    }
    out[i] = i % 2 == 0 ? left : right;
}
