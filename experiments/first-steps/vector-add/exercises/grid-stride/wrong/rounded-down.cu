// y[i] = y[i] + factor * x[i], for each of `count` elements.

extern "C" __global__ void add_scaled(
    const float *x, float *y, float factor, unsigned int count)
{
    unsigned int threads = gridDim.x * blockDim.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned int turn = 0; turn < count / threads; turn++)
        y[turn * threads + i] += factor * x[turn * threads + i];
}
