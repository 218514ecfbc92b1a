// out[i] = table[indices[i]], for rows of 16 floats and i from 0 to n - 1.

#define WIDTH 16
#define ROWS 256

extern "C" __global__ void embed(const float *table, const unsigned *indices, float *out, int n)
{
    // 16 threads copy a row, so the block copies 16 rows at a time.
    int word = threadIdx.x % WIDTH;

    for (int k = threadIdx.x / WIDTH; k < ROWS; k += blockDim.x / WIDTH) {
        int i = blockIdx.x * blockDim.x / WIDTH + k;
        if (i >= n)
            return;

        // The 16 threads load the same index: one word, and one sector.
        out[i * WIDTH + word] = table[indices[i] * WIDTH + word];
    }
}
