// What every element of `out` has to be.
extern "C" __global__ void expected(const int *in, int *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    int total = 0;
    for (int k = i / 256 * 256; k <= i; k++)
        total += in[k];
    out[i] = total;
}
