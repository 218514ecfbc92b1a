// out[i] = in[i - 1] + in[i] + in[i + 1], where elements beyond the ends count as 0.
//
// A thread for each element, in blocks of 256.

extern "C" __global__ void neighbours(const int *in, int *out, unsigned int count)
{
    unsigned int i = blockIdx.x * 256 + threadIdx.x;
    if (i < count) {
        int left = i > 0 ? in[i - 1] : 0;
        int right = i + 1 < count ? in[i + 1] : 0;
        out[i] = left + in[i] + right;
    }
}
