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

// *total = the sum of data[0..count]; one block of 256 threads
extern "C" __global__ void total(const float *data, float *total, int count)
{
    __shared__ float parts[256];
    float part = 0.0f;
    for (int i = threadIdx.x; i < count; i += 256)
        part += data[i];
    parts[threadIdx.x] = part;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            parts[threadIdx.x] += parts[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        *total = parts[0];
}

// sum[i] += data[i]
extern "C" __global__ void accumulate(const float *data, float *sum, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        sum[i] += data[i];
}
