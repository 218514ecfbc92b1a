// y[i] = max(scale * x[i] + bias, 0) + residual[i], for i from 0 to n - 1.

extern "C" __global__ void layer(const float *x, const float *residual, float *y,
                                 float scale, float bias, int n)
{
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;

    // Each thread has eight neighbours.
    for (int k = 0; k < 8; k++) {
        int i = first * 8 + k;
        if (i < n)
            y[i] = fmaxf(scale * x[i] + bias, 0) + residual[i];
    }
}
