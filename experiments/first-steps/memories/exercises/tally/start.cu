// tally[c] = how many elements of `classes` are c, which is from 0 to 15.
//
// 64 blocks of 256 threads for any n. All of `tally` is 0 before.

extern "C" __global__ void count(const unsigned int *classes, unsigned int *tally, unsigned int n)
{
    for (unsigned int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(&tally[classes[i]], 1);
}
