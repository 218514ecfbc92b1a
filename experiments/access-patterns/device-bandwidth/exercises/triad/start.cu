// out[i] = a[i] + 3 * b[i], for i from 0 to n - 1.
//
// Blocks have 256 threads. There is a block for every 1024 elements, so each thread has four.

extern "C" __global__ void triad(const float *a, const float *b, float *out, int n)
{
    int first = blockIdx.x * 1024 + threadIdx.x;

    for (int k = 0; k < 4; k++) {
        int i = first + k * 256;
        if (i < n)
            out[i] = a[i] + 3 * b[i];
    }
}
