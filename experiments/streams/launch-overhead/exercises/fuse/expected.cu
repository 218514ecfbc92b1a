// What every element of `out` has to be.
extern "C" __global__ void expected(const float *x, const float *y, float *out, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double sum = (double)a * x[i] + y[i];
    out[i] = sum > 0 ? sum : 0;
}
