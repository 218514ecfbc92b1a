// What every element of `out` has to be.
extern "C" __global__ void expected(const float *in, float *out, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = factor * in[i];
}
