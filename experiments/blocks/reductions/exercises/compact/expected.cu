// One thread looks at one entry after the other.
extern "C" __global__ void expected(const unsigned int *used, unsigned int n, unsigned int *free)
{
    if (blockIdx.x * blockDim.x + threadIdx.x > 0)
        return;
    unsigned int found = 0;
    for (unsigned int i = 0; i < n; i++)
        if (used[i] == 0)
            free[found++] = i;
}

// How many they are.
extern "C" __global__ void number(const unsigned int *used, unsigned int n, unsigned int *count)
{
    if (blockIdx.x * blockDim.x + threadIdx.x > 0)
        return;
    unsigned int found = 0;
    for (unsigned int i = 0; i < n; i++)
        found += used[i] == 0;
    *count = found;
}
