// One thread adds up one word after the other.
extern "C" __global__ void expected(const unsigned int *in, unsigned int *out, unsigned int n)
{
    if (blockIdx.x * blockDim.x + threadIdx.x > 0)
        return;
    unsigned int sum = 0;
    for (unsigned int i = 0; i < n; i++) {
        sum += in[i];
        out[i] = sum;
    }
}

// 1 + the sum through each tile.
extern "C" __global__ void sums(const unsigned int *in, unsigned long long *through, unsigned int n)
{
    if (blockIdx.x * blockDim.x + threadIdx.x > 0)
        return;
    unsigned long long sum = 1;
    for (unsigned int i = 0; i < n; i++) {
        sum += in[i];
        if (i % 1024 == 1023 || i == n - 1)
            through[i / 1024] = sum;
    }
}

// A ticket for each tile.
extern "C" __global__ void tickets(unsigned int *ticket, unsigned int n)
{
    if (blockIdx.x * blockDim.x + threadIdx.x == 0)
        *ticket = (n + 1023) / 1024;
}
