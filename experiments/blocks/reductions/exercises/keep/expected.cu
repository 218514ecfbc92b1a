// What every element of `out` has to be: the one that is not 0 and has i % 32 such before it.
extern "C" __global__ void expected(const unsigned int *in, unsigned int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int before = i % 32;
    for (int k = i - i % 32; k < i - i % 32 + 32 && k < n; k++)
        if (in[k] != 0 && before-- == 0)
            out[i] = in[k];
}

// What every element of `kept` has to be.
extern "C" __global__ void counted(const unsigned int *in, unsigned int *kept, int n)
{
    int warp = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int count = 0;
    for (int k = 32 * warp; k < 32 * warp + 32 && k < n; k++)
        count += in[k] != 0;
    if (32 * warp < n)
        kept[warp] = count;
}
