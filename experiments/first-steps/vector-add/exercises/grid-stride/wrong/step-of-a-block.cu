// y[i] = y[i] + factor * x[i], for each of `count` elements.
//
// There are 4 blocks of 256 threads, whatever `count` is.

extern "C" __global__ void add_scaled(
    const float *x, float *y, float factor, unsigned int count)
{
    unsigned int threads = blockDim.x;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads)
        y[i] += factor * x[i];
}
