// tallest[b] = the greatest height in block b.
//
// A thread for each of the n pupils, in blocks of 256. All of `tallest` is 0 before.

extern "C" __global__ void compare(
    const unsigned int *heights, unsigned int *tallest, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicMax(&tallest[blockIdx.x], heights[i]);
}
