// tally[c] = how many elements of `classes` are c, which is from 0 to 15.
//
// 64 blocks of 256 threads for any n. All of `tally` is 0 before.

extern "C" __global__ void count(const unsigned int *classes, unsigned int *tally, unsigned int n)
{
    __shared__ unsigned int bench[16];
    if (threadIdx.x < 16)
        bench[threadIdx.x] = 0;
    __syncthreads(); // no thread adds before all places are 0

    for (unsigned int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(&bench[classes[i]], 1);

    __syncthreads(); // all have added
    if (threadIdx.x < 16)
        atomicAdd(&tally[threadIdx.x], bench[threadIdx.x]);
}
