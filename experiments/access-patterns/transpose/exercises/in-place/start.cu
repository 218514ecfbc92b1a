// matrix[column][row] and matrix[row][column] change places, for side × side elements.
//
// A block has 32 x 8 threads, and there is one for each square of 32 x 32 elements.

#define SIDE 32
#define ROWS_AT_ONCE 8

extern "C" __global__ void transpose(float *matrix, int side)
{
    int column = blockIdx.x * SIDE + threadIdx.x;
    int first = blockIdx.y * SIDE + threadIdx.y;

    for (int row = first; row < first + SIDE; row += ROWS_AT_ONCE)
        if (row < column && column < side) {
            float above = matrix[row * side + column];
            matrix[row * side + column] = matrix[column * side + row];
            matrix[column * side + row] = above;
        }
}
