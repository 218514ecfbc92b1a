// What *result has to be.
extern "C" __global__ void expected(const float *a, const float *b, float *result, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0)
        return;
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += (double)a[k] * b[k];
    *result = sum;
}
