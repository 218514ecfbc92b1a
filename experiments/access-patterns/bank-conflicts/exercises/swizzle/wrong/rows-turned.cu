// out[column][row] = in[row][column], through a tile in shared memory.

#define SIDE 32
#define ROWS_AT_ONCE 8

extern "C" __global__ void transpose(const float *in, float *out, int rows, int columns)
{
    __shared__ float tile[SIDE][SIDE];
    int left = blockIdx.x * SIDE, top = blockIdx.y * SIDE;

    for (int y = threadIdx.y; y < SIDE; y += ROWS_AT_ONCE) {
        int x = threadIdx.x;
        if (top + y < rows && left + x < columns)
            tile[y ^ x][x] = in[(top + y) * columns + left + x];
    }

    __syncthreads();

    for (int x = threadIdx.y; x < SIDE; x += ROWS_AT_ONCE) {
        int y = threadIdx.x;
        if (top + y < rows && left + x < columns)
            out[(left + x) * rows + top + y] = tile[y ^ x][x];
    }
}
