__global__ void sums(const float *in, float *out, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (int column = 0; column < columns; column++)
        sum += in[column * rows + row];
    out[row] = sum;
}
