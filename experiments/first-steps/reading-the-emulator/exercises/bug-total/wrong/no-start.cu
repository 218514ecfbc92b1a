// y[row] = the sum of matrix[row][column] * x[column] over all columns.

extern "C" __global__ void multiply(
    const int *matrix, const int *x, int *y, unsigned int rows, unsigned int columns)
{
    unsigned int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    y[row] = 0;
    for (unsigned int column = 1; column < columns; column++)
        y[row] += matrix[row * columns + column] * x[column];
}
