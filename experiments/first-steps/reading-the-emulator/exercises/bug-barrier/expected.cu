// What every element of `ahead` has to be.
extern "C" __global__ void expected(
    const unsigned int *in, unsigned int *ahead, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    unsigned int smaller = 0;
    for (int k = 0; k < count; k++)
        if (in[k] < in[i])
            smaller++;
    ahead[i] = smaller;
}
