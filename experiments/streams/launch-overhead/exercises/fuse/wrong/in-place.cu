// out[i] = max(a * x[i] + y[i], 0), in three steps.
//
// 16 blocks of 256 threads for any n: each thread takes every 4096th element.

extern "C" __global__ void fused(const float *x, const float *y, float *scaled, float *sum,
                                 float *out, float a, int n)
{
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    int step = gridDim.x * blockDim.x;

    for (int i = first; i < n; i += step)
        out[i] = a * x[i];

    for (int i = first; i < n; i += step)
        out[i] = out[i] + y[i];

    for (int i = first; i < n; i += step)
        out[i] = fmaxf(out[i], 0.0f);
}
