// *count = how many of the n numbers are greater than `limit`.
//
// A thread for each number, in blocks of 256. *count is 0 before.

extern "C" __global__ void hands(const float *in, unsigned int *count, float limit, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > limit)
        atomicAdd(count, 1);
}
