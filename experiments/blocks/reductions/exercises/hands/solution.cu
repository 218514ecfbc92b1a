// *count = how many of the n numbers are greater than `limit`.

extern "C" __global__ void hands(const float *in, unsigned int *count, float limit, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    // All threads vote; one without a number votes no.
    int votes = __syncthreads_count(i < n && in[i] > limit);
    if (threadIdx.x == 0)
        atomicAdd(count, votes);
}
