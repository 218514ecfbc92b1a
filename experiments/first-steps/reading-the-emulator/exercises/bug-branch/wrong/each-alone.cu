// Running totals in each block of 256: out[i] = in[i] + the elements before it in the block.

extern "C" __global__ void totals(const int *in, int *out, unsigned int count)
{
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * 256 + t;
    if (i >= count)
        return;
    int total = 0;
    for (unsigned int k = i - t; k <= i; k++)
        total += in[k];
    out[i] = total;
}
