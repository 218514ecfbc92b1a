// *total += in[0] + in[1] + … + in[n - 1], with one atomic operation for each warp.

extern "C" __global__ void sum(const float *in, float *total, int n)
{
    float mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        mine += in[i];

    for (int step = 16; step > 0; step /= 2)
        mine += __shfl_down_sync(0xffffffff, mine, step);
    if (threadIdx.x % 32 == 0)
        atomicAdd(total, mine);
}
