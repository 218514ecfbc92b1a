// sums[column] += the sum of in[row][column] over all rows. `sums` is 0 at first.

extern "C" __global__ void bias(const float *in, float *sums, int rows, int columns)
{
    __shared__ float shares[8][32];
    int column = blockIdx.x * 32 + threadIdx.x;

    // Each warp takes every eighth of the block's 256 rows.
    float share = 0;
    int last = min(rows, (blockIdx.y + 1) * 256);
    if (column < columns)
        for (int row = blockIdx.y * 256 + threadIdx.y; row < last; row += 8)
            share += in[row * columns + column];
    shares[threadIdx.y][threadIdx.x] = share;
    __syncthreads();

    // The first warp adds the shares of all eight, and the block's sums to those of the others.
    if (threadIdx.y == 0 && column < columns) {
        for (int y = 1; y < 8; y++)
            share += shares[y][threadIdx.x];
        atomicAdd(&sums[column], share);
    }
}
