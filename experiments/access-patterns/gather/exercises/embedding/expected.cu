// What every element of `out` has to be.
extern "C" __global__ void expected(const float *table, const unsigned *indices, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 16 * n)
        out[i] = table[indices[i / 16] * 16 + i % 16];
}
