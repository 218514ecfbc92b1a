// What every element of `sums` has to be: the exact sum, a whole number, rounded once.
extern "C" __global__ void expected(const unsigned char *in, float *sums, int n, int terms)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n)
        return;
    int sum = 0;
    for (int k = 0; k < terms; k++)
        sum += in[k * n + t];
    // Below 256 every whole number is one of BF16; then the step doubles with the sum.
    int step = 1;
    while (sum / step >= 256)
        step *= 2;
    sums[t] = rintf((float)sum / step) * step;
}
