// least[block] is the least of the block's 256 elements, or of those that are left.

extern "C" __global__ void minimum(const int *days, int *least, unsigned int count)
{
    __shared__ int bench[256];

    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * 256 + t;
    if (i < count)
        bench[t] = days[i];
    __syncthreads();

    if (t == 0) {
        int lowest = bench[0];
        for (unsigned int k = 1; k < 256 && i + k < count; k++)
            lowest = min(lowest, bench[k]);
        least[blockIdx.x] = lowest;
    }
}
