// What every element of `sum` has to be.
extern "C" __global__ void expected(
    const float *a, const float *b, const float *c, float *sum, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        sum[i] = a[i] + b[i] + c[i];
}
