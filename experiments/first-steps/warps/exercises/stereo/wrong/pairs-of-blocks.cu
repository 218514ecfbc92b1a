// Scrambles samples: those at even places (left) in one way, those at odd places (right) in
// another, in `steps` steps.
//
// A thread for each sample, in blocks of 256.

extern "C" __global__ void scramble(
    const unsigned int *in, unsigned int *out, unsigned int count, unsigned int steps)
{
    unsigned int i = blockIdx.x / 2 * 512 + 2 * threadIdx.x + blockIdx.x % 2;
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
