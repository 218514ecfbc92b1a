// x[i] = limit, wherever x[i] is above it.

extern "C" __global__ void cut(float *x, float limit, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 1 && x[i] > limit)
        x[i] = limit;
}
