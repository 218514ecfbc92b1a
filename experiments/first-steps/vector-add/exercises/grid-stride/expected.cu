// What every element of `y` has to be.
extern "C" __global__ void expected(const float *x, float *y, float factor, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        y[i] += factor * x[i];
}
