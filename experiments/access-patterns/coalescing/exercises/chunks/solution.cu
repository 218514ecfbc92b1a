// out[i] = factor * in[i], for i from 0 to n - 1.

#define EACH 8

extern "C" __global__ void scale(const float *in, float *out, float factor, int n)
{
    // The block's elements are as many as before. In each step its threads take neighbours.
    int first = blockIdx.x * blockDim.x * EACH + threadIdx.x;

    for (int k = 0; k < EACH; k++) {
        int i = first + k * blockDim.x;
        if (i < n)
            out[i] = factor * in[i];
    }
}
