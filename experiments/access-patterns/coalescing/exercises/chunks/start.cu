// out[i] = factor * in[i], for i from 0 to n - 1.
//
// Blocks have 256 threads. There is a block for every 2048 elements, so each thread has eight.

#define EACH 8

extern "C" __global__ void scale(const float *in, float *out, float factor, int n)
{
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * EACH;

    for (int k = 0; k < EACH; k++) {
        int i = first + k;
        if (i < n)
            out[i] = factor * in[i];
    }
}
