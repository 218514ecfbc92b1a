// out[i] = 255 - in[i], for i from 0 to n - 1. n is a multiple of 16.
//
// Blocks have 256 threads. There is a block for every 4096 pixels, so each thread has 16.

#define EACH 16

extern "C" __global__ void negative(const unsigned char *in, unsigned char *out, int n)
{
    int first = blockIdx.x * blockDim.x * EACH + threadIdx.x;

    for (int k = 0; k < EACH; k++) {
        int i = first + k * blockDim.x;
        if (i < n)
            out[i] = 255 - in[i];
    }
}
