// *result = the sum of a[i] * b[i] for all i below n. *result is 0 before.
//
// 64 blocks of 256 threads for any n.

__device__ float warp_sum(float value)
{
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_xor_sync(0xFFFFFFFF, value, distance);
    return value;
}

extern "C" __global__ void dot(const float *a, const float *b, float *result, unsigned int n)
{
    __shared__ float of_warp[8];

    // A share of the elements: in each step the grid takes what lies side by side.
    float sum = 0;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += a[i] * b[i];

    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = sum;
    __syncthreads();

    // The first warp adds up the warps' sums, and one thread brings them to the result.
    if (threadIdx.x < 32) {
        sum = warp_sum(threadIdx.x < 8 ? of_warp[threadIdx.x] : 0);
        if (threadIdx.x == 0)
            atomicAdd(result, sum);
    }
}
