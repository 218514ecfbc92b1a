// Running totals in each block of 256: out[i] = in[i] + the elements before it in the block.
//
// A thread for each element, in blocks of 256.

extern "C" __global__ void totals(const int *in, int *out, unsigned int count)
{
    __shared__ int bench[256];

    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * 256 + t;
    bench[t] = i < count ? in[i] : 0;
    __syncthreads();

    for (unsigned int step = 1; step < 256; step *= 2) {
        if (t >= step) {
            int left = bench[t - step];
            bench[t] += left;
        }
        __syncthreads();
    }
    if (i < count)
        out[i] = bench[t];
}
