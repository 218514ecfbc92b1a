// y[i] = y[i] + factor * x[i], for each of `count` elements.

extern "C" __global__ void add_scaled(
    const float *x, float *y, float factor, unsigned int count)
{
    unsigned int threads = gridDim.x * blockDim.x;
    unsigned int each = (count + threads - 1) / threads;
    unsigned int first = (blockIdx.x * blockDim.x + threadIdx.x) * each;
    for (unsigned int i = first; i < first + each && i < count; i++)
        y[i] += factor * x[i];
}
