// out[i] = a[i] + 3 * b[i], for i from 0 to n - 1: whole vectors, and up to three elements behind them.

extern "C" __global__ void triad(const float *a, const float *b, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int vectors = n / 4;

    if (i < vectors) {
        float4 x = ((const float4 *)a)[i];
        float4 y = ((const float4 *)b)[i];
        x.x += 3 * y.x;
        x.y += 3 * y.y;
        x.z += 3 * y.z;
        x.w += 3 * y.w;
        ((float4 *)out)[i] = x;
    }

    // The first threads of the grid also have what is left over.
    int rest = 4 * vectors + i;
    if (rest < n)
        out[rest] = a[rest] + 3 * b[rest];
}
