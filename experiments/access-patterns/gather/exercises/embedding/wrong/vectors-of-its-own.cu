// out[i] = table[indices[i]], for rows of 16 floats: each thread copies its row in four vectors.

extern "C" __global__ void embed(const float4 *table, const unsigned *indices, float4 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    unsigned row = indices[i];
    for (int k = 0; k < 4; k++)
        out[i * 4 + k] = table[row * 4 + k];
}
