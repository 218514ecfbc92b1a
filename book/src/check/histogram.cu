// check: --kernel histogram --grid 8 --block 128
// check: --arg in=u8[n]:random --arg counts=u32[256]:zero --arg n --set n=1000
__global__ void histogram(const unsigned char *in, unsigned int *counts, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        counts[in[i]]++;
}
