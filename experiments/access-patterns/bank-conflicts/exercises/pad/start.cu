// sums[row] = the sum of a row of the matrix, which has 32 columns.
//
// A block is one warp, for 32 rows.

extern "C" __global__ void sum_rows(const float *matrix, float *sums)
{
    __shared__ float tile[32][32];
    const float *first = matrix + blockIdx.x * 32 * 32;
    int lane = threadIdx.x;

    for (int row = 0; row < 32; row++)
        tile[row][lane] = first[row * 32 + lane];

    __syncthreads();

    float sum = 0;
    for (int column = 0; column < 32; column++)
        sum += tile[lane][column];
    sums[blockIdx.x * 32 + lane] = sum;
}
