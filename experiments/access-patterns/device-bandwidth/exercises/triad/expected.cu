// What every element of `out` has to be.
extern "C" __global__ void expected(const float *a, const float *b, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a[i] + 3 * b[i];
}
