// sums[group] is the sum of 32 elements, or of those that are left.
//
// A thread for each element, in blocks of 256: a warp for each group.

extern "C" __global__ void warp_sum(const float *in, float *sums, unsigned int count)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int lane = threadIdx.x % 32;

    float value = i < count ? in[i] : 0; // nobody leaves: all lanes are needed below
    for (unsigned int distance = 16; distance > 1; distance /= 2)
        value += __shfl_down_sync(0xffffffff, value, distance);
    if (lane == 0 && i < count)
        sums[i / 32] = value;
}
