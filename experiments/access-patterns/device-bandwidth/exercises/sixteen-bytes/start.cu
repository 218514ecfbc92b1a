// out[i] = in[i], for i from 0 to n - 1. What is before and after that in `out` stays as it is.
//
// Blocks have 256 threads. There is a block for every 1024 elements.

extern "C" __global__ void copy(const float *in, float *out, int n)
{
    int first = blockIdx.x * 1024 + threadIdx.x;

    for (int k = 0; k < 4; k++) {
        int i = first + k * 256;
        if (i < n)
            out[i] = in[i];
    }
}
