// y[row] = the sum of matrix[row][column] * x[column] over all columns.
//
// A thread for each row, in blocks of 256. `y` has just been allocated.

extern "C" __global__ void multiply(
    const int *matrix, const int *x, int *y, unsigned int rows, unsigned int columns)
{
    unsigned int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0)
        for (unsigned int i = 0; i < rows; i++)
            y[i] = 0;
    __syncthreads();
    if (row >= rows)
        return;
    for (unsigned int column = 0; column < columns; column++)
        y[row] += matrix[row * columns + column] * x[column];
}
