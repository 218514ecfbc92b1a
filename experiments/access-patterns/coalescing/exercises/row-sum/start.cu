// sums[row] = in[row][0] + in[row][1] + … + in[row][columns - 1].
//
// A block has 256 threads, and is for 256 rows. The last block may have fewer.

extern "C" __global__ void row_sums(const float *in, float *sums, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;

    float sum = 0;
    for (int column = 0; column < columns; column++)
        sum += in[row * columns + column];
    sums[row] = sum;
}
