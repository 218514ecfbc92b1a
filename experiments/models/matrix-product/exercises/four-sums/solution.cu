// c = a · b, for matrices of n × n elements, row after row.

extern "C" __global__ void product(const float *a, const float *b, float *c, int n)
{
    int row = blockIdx.y * 8 + threadIdx.y;
    int column = blockIdx.x * 128 + threadIdx.x;

    float sums[4] = {0, 0, 0, 0};
    for (int k = 0; k < n; k++) {
        float of_a = a[row * n + k]; // loaded once, for all four
#pragma unroll
        for (int part = 0; part < 4; part++)
            sums[part] += of_a * b[k * n + column + 32 * part];
    }
#pragma unroll
    for (int part = 0; part < 4; part++)
        c[row * n + column + 32 * part] = sums[part];
}
