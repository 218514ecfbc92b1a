// What every element of `sums` has to be.
extern "C" __global__ void expected(const float *in, float *sums, int count)
{
    int group = blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 0;
    for (int i = 32 * group; i < 32 * group + 32 && i < count; i++)
        sum += in[i];
    if (32 * group < count)
        sums[group] = sum;
}
