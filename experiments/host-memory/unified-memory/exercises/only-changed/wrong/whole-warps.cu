// A warp in which one number is above the limit stores all of its 32.

extern "C" __global__ void cut(float *x, float limit, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i < n ? x[i] : limit;
    bool any = __any_sync(0xFFFFFFFF, value > limit);
    if (i < n && any)
        x[i] = fminf(value, limit);
}
