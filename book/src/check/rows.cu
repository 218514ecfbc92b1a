// check: --kernel sums --grid 'ceil(rows / 64)' --block 64
// check: --arg in=f32[rows][columns]:random --arg out=f32[rows] --arg rows --arg columns
// check: --set rows=500,columns=96
__global__ void sums(const float *in, float *out, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (int column = 0; column < columns; column++)
        sum += in[row * columns + column];
    out[row] = sum;
}
