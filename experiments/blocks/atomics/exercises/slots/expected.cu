// Each slot has one owner.
extern "C" __global__ void expected(unsigned int *owners, unsigned int words)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < words * 32)
        owners[i] = 1;
}

// All bits are set.
extern "C" __global__ void full(unsigned int *taken, unsigned int words)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < words)
        taken[i] = 0xFFFFFFFF;
}
