// sums[group] is the sum of 32 elements, or of those that are left.
//
// A thread for each element, in blocks of 256: a warp for each group.

extern "C" __global__ void warp_sum(const float *in, float *sums, unsigned int count)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int lane = threadIdx.x % 32;

    if (lane == 0 && i < count) {
        float sum = 0;
        for (unsigned int k = 0; k < 32 && i + k < count; k++)
            sum += in[i + k];
        sums[i / 32] = sum;
    }
}
