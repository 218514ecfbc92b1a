// out[column][row] = in[row][column], through a tile in shared memory, with one wait.

#define SIDE 32
#define ROWS_AT_ONCE 8

extern "C" __global__ void transpose(const float *in, float *out, int rows, int columns)
{
    __shared__ float tile[SIDE][SIDE + 1];

    int column = blockIdx.x * SIDE + threadIdx.x;
    int row = blockIdx.y * SIDE + threadIdx.y;
    for (int i = 0; i < SIDE; i += ROWS_AT_ONCE)
        if (row + i < rows && column < columns)
            tile[threadIdx.y + i][threadIdx.x] = in[(row + i) * columns + column];

    // Here, not in the loop: four loads of each thread are in flight before the block waits.
    __syncthreads();

    int out_column = blockIdx.y * SIDE + threadIdx.x;
    int out_row = blockIdx.x * SIDE + threadIdx.y;
    for (int i = 0; i < SIDE; i += ROWS_AT_ONCE)
        if (out_row + i < columns && out_column < rows)
            out[(out_row + i) * rows + out_column] = tile[threadIdx.x][threadIdx.y + i];
}
