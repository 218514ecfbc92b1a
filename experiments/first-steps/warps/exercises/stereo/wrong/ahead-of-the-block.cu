// Scrambles samples: those at even places (left) in one way, those at odd places (right) in
// another, in `steps` steps.
//
// A thread for each sample, in blocks of 256.

extern "C" __global__ void scramble(
    const unsigned int *in, unsigned int *out, unsigned int count, unsigned int steps)
{
    // Of the block's 256 samples, its first four warps take the left ones, the others the right.
    // (A warp's samples lie in twice as many sectors now: a small price where the work is long.)
    unsigned int pair = threadIdx.x % 128, right = threadIdx.x / 128;
    unsigned int i = 2 * (blockIdx.x * 256 + pair) + right;
    if (i >= count)
        return;
    unsigned int sample = in[i];
    if (i % 2 == 0) {
        for (unsigned int step = 0; step < steps; step++) {
            sample ^= sample << 13;
            sample ^= sample >> 17;
            sample ^= sample << 5;
        }
    } else {
        for (unsigned int step = 0; step < steps; step++) {
            sample ^= sample >> 7;
            sample += sample << 9;
            sample ^= sample >> 11;
        }
    }
    out[i] = sample;
}
