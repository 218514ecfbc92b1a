// What *count has to be.
extern "C" __global__ void expected(const float *in, unsigned int *count, float limit, int n)
{
    if (blockIdx.x * blockDim.x + threadIdx.x > 0)
        return;
    unsigned int found = 0;
    for (int i = 0; i < n; i++)
        found += in[i] > limit;
    *count = found;
}
