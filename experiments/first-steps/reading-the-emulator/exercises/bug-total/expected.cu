// What every element of `y` has to be.
extern "C" __global__ void expected(
    const int *matrix, const int *x, int *y, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    int sum = 0;
    for (int column = 0; column < columns; column++)
        sum += matrix[row * columns + column] * x[column];
    y[row] = sum;
}
