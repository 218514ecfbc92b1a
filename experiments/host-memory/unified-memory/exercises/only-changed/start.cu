// x[i] = limit, wherever x[i] is above it.
//
// A thread for each element, 256 in a block.

extern "C" __global__ void cut(float *x, float limit, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = fminf(x[i], limit);
}
