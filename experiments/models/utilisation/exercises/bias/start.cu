// sums[column] += the sum of in[row][column] over all rows. `sums` is 0 at first.
//
// Blocks have 32 × 8 threads: one block for every 32 columns (x) and every 256 rows (y).

extern "C" __global__ void bias(const float *in, float *sums, int rows, int columns)
{
    int column = blockIdx.x * 32 + threadIdx.x;
    if (blockIdx.y > 0 || threadIdx.y > 0 || column >= columns)
        return;

    float sum = 0;
    for (int row = 0; row < rows; row++)
        sum += in[row * columns + column];
    sums[column] = sum;
}
