// out[i] = in[i - 1] + in[i] + in[i + 1], where elements beyond the ends count as 0.
//
// A thread for each element, in blocks of 256.

extern "C" __global__ void neighbours(const int *in, int *out, unsigned int count)
{
    // The block's 256 elements, with one more on either side: that of thread t is bench[t + 1].
    __shared__ int bench[258];

    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * 256 + t;
    bench[t + 1] = i < count ? in[i] : 0;
    if (t == 0)
        bench[0] = i > 0 ? in[i - 1] : 0;
    if (t == 255)
        bench[257] = i + 1 < count ? in[i + 1] : 0;

    __syncthreads(); // threads without an element have come here, too

    if (i < count)
        out[i] = bench[t] + bench[t + 1] + bench[t + 2];
}
