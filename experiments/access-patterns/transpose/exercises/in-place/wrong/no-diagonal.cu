// matrix[column][row] and matrix[row][column] change places, for side × side elements.

#define SIDE 32
#define ROWS_AT_ONCE 8

extern "C" __global__ void transpose(float *matrix, int side)
{
    __shared__ float here[SIDE][SIDE + 1], there[SIDE][SIDE + 1];

    // This block's square, and the one on the other side of the diagonal.
    int left = blockIdx.x * SIDE, top = blockIdx.y * SIDE;

    // Blocks below the diagonal have nothing to do: those above it do both squares.
    if (left <= top)
        return;

    int x = threadIdx.x;
    for (int y = threadIdx.y; y < SIDE; y += ROWS_AT_ONCE) {
        if (top + y < side && left + x < side)
            here[y][x] = matrix[(top + y) * side + left + x];
        if (left + y < side && top + x < side)
            there[y][x] = matrix[(left + y) * side + top + x];
    }

    // From here on both squares may be overwritten.
    __syncthreads();

    // On the diagonal both stores write the same.
    for (int y = threadIdx.y; y < SIDE; y += ROWS_AT_ONCE) {
        if (top + y < side && left + x < side)
            matrix[(top + y) * side + left + x] = there[x][y];
        if (left + y < side && top + x < side)
            matrix[(left + y) * side + top + x] = here[x][y];
    }
}
