// sums[group] is the sum of 32 elements, or of those that are left.

extern "C" __global__ void warp_sum(const float *in, float *sums, unsigned int count)
{
    __shared__ float tile[256];
    unsigned int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    tile[t] = i < count ? in[i] : 0;
    __syncthreads();
    for (unsigned int half = 16; half > 0; half /= 2) {
        if (t % 32 < half)
            tile[t] += tile[t + half];
        __syncthreads();
    }
    if (t % 32 == 0 && i < count)
        sums[i / 32] = tile[t];
}
