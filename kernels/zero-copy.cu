// Reads and writes of an array that may be in device memory or in the host's: the
// kernels are given an address and cannot tell.
//
// `words` is the array's length, `count` the number of threads that do something.
// Neighbouring threads are `step` words apart and wrap around at the array's end. A step
// that has no factor in common with the length leaves no word out. (`words * step` must
// be below 2^32, so that the product does not overflow.)

// ANCHOR: read
// Each thread reads `reads` words, `jump` apart, one after the other, and writes their
// sum. With a jump of 0 it reads the same word again and again.
extern "C" __global__ void read(const unsigned int *in, unsigned int *out,
                                unsigned int words, unsigned int count,
                                unsigned int step, unsigned int reads,
                                unsigned int jump)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    unsigned int place = i * step % words;
    unsigned int sum = 0;
#pragma unroll 1
    for (unsigned int k = 0; k < reads; k++) {
        sum += in[place];
        place += jump;
        if (place >= words)
            place -= words;
    }
    out[i] = sum;
}
// ANCHOR_END: read

// ANCHOR: write
// Each thread writes one word, from which its place can be told.
extern "C" __global__ void write(unsigned int *out, unsigned int words, unsigned int step)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= words)
        return;
    unsigned int place = i * step % words;
    out[place] = place * 2654435761u;
}
// ANCHOR_END: write
