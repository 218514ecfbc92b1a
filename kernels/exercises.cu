// What exercises in host code launch.

// data[i] *= factor
extern "C" __global__ void scale(float *data, float factor, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] *= factor;
}

// out[i] = a[i] + b[i]
extern "C" __global__ void add(const float *a, const float *b, float *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = a[i] + b[i];
}
