// out[i] = table[indices[i]], for rows of 16 floats and i from 0 to n - 1.
//
// A block has 256 threads, and is for 256 rows of `out`.

#define WIDTH 16

extern "C" __global__ void embed(const float *table, const unsigned *indices, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    unsigned row = indices[i];
    for (int k = 0; k < WIDTH; k++)
        out[i * WIDTH + k] = table[row * WIDTH + k];
}
