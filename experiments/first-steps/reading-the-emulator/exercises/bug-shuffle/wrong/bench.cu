// begins[i] = 1 if in[i] differs from in[i - 1], or if there is none; otherwise 0.
//
// A thread for each element, in blocks of 256.

extern "C" __global__ void runs(
    const unsigned int *in, unsigned int *begins, unsigned int count)
{
    __shared__ unsigned int bench[256];

    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    bench[t] = i < count ? in[i] : 0;
    __syncthreads();

    if (i < count)
        begins[i] = i == 0 || bench[t] != (t > 0 ? bench[t - 1] : in[i - 1]);
}
