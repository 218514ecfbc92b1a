// What every element of `out` has to be.
extern "C" __global__ void expected(
    const unsigned int *in, unsigned int *out, unsigned int count, unsigned int steps)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    unsigned int sample = in[i];
    for (unsigned int step = 0; step < steps; step++) {
        if (i % 2 == 0) {
            sample ^= sample << 13;
            sample ^= sample >> 17;
            sample ^= sample << 5;
        } else {
            sample ^= sample >> 7;
            sample += sample << 9;
            sample ^= sample >> 11;
        }
    }
    out[i] = sample;
}
