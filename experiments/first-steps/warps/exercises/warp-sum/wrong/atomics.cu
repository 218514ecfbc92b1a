// sums[group] is the sum of 32 elements, or of those that are left.

extern "C" __global__ void warp_sum(const float *in, float *sums, unsigned int count)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int lane = threadIdx.x % 32;

    if (lane == 0 && i < count)
        sums[i / 32] = 0;
    __syncwarp();
    if (i < count)
        atomicAdd(&sums[i / 32], in[i]);
}
