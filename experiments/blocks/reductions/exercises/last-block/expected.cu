// The sum of `a`, and the sum of `b`.
extern "C" __global__ void expected(const float *a, const float *b, int n, float *sums)
{
    int which = blockIdx.x * blockDim.x + threadIdx.x;
    if (which > 1)
        return;
    const float *in = which == 0 ? a : b;
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += in[i];
    sums[which] = sum;
}
