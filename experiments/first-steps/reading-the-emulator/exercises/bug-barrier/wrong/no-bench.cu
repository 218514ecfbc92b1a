// ahead[i] = how many elements are smaller than in[i].

extern "C" __global__ void rank(
    const unsigned int *in, unsigned int *ahead, unsigned int count)
{
    unsigned int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= count)
        return;
    unsigned int smaller = 0;
    for (unsigned int k = 0; k < count; k++)
        if (in[k] < in[i])
            smaller++;
    ahead[i] = smaller;
}
