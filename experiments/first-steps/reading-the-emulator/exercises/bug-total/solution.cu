// y[row] = the sum of matrix[row][column] * x[column] over all columns.
//
// A thread for each row, in blocks of 256. `y` has just been allocated.

extern "C" __global__ void multiply(
    const int *matrix, const int *x, int *y, unsigned int rows, unsigned int columns)
{
    unsigned int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    int sum = 0; // in a register, and no other thread's business
    for (unsigned int column = 0; column < columns; column++)
        sum += matrix[row * columns + column] * x[column];
    y[row] = sum;
}
