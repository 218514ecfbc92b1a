// x[i] = limit, wherever x[i] is above it. Nothing else is written.

extern "C" __global__ void cut(float *x, float limit, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > limit)
        x[i] = limit;
}
