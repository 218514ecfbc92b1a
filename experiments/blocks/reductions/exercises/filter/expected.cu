// One thread looks at one word after the other.
extern "C" __global__ void expected(const unsigned int *in, unsigned int *out, unsigned int n)
{
    if (blockIdx.x * blockDim.x + threadIdx.x > 0)
        return;
    unsigned int found = 0;
    for (unsigned int i = 0; i < n; i++)
        if (in[i] % 2 == 0)
            out[found++] = in[i];
}

// How many they are.
extern "C" __global__ void number(const unsigned int *in, unsigned int *kept, unsigned int n)
{
    if (blockIdx.x * blockDim.x + threadIdx.x > 0)
        return;
    unsigned int found = 0;
    for (unsigned int i = 0; i < n; i++)
        found += in[i] % 2 == 0;
    *kept = found;
}

// A ticket for each tile.
extern "C" __global__ void tickets(unsigned int *ticket, unsigned int n)
{
    if (blockIdx.x * blockDim.x + threadIdx.x == 0)
        *ticket = (n + 255) / 256;
}
