// What every element has to be: a thread above the diagonal exchanges two.
extern "C" __global__ void expected(float *matrix, int side)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int row = i / side, column = i % side;
    if (row < column && row < side) {
        float above = matrix[i];
        matrix[i] = matrix[column * side + row];
        matrix[column * side + row] = above;
    }
}
