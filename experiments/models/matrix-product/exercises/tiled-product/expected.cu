// What every element of `c` has to be.
extern "C" __global__ void expected(const float *a, const float *b, float *c,
                                    int rows, int inner, int columns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * columns) {
        int row = i / columns, column = i % columns;
        double sum = 0;
        for (int k = 0; k < inner; k++)
            sum += (double)a[row * inner + k] * b[k * columns + column];
        c[i] = (float)sum;
    }
}
