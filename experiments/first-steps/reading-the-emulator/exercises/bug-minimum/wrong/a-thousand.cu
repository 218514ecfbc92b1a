// least[block] is the least of the block's 256 elements, or of those that are left.
//
// A thread for each element, in blocks of 256.

extern "C" __global__ void minimum(const int *days, int *least, unsigned int count)
{
    __shared__ int bench[256];

    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * 256 + t;
    bench[t] = i < count ? days[i] : 1000;
    __syncthreads();

    for (unsigned int half = 128; half > 0; half /= 2) {
        if (t < half)
            bench[t] = min(bench[t], bench[t + half]);
        __syncthreads();
    }
    if (t == 0)
        least[blockIdx.x] = bench[0];
}
