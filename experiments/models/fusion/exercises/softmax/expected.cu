// What every element of `out` has to be.
extern "C" __global__ void expected(const float *in, float *out, float scale, int rows,
                                    int columns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * columns)
        return;
    const float *row = in + i / columns * columns;
    float m = scale * row[0];
    for (int column = 1; column < columns; column++)
        m = fmaxf(m, scale * row[column]);
    double sum = 0;
    for (int column = 0; column < columns; column++)
        sum += expf(scale * row[column] - m);
    out[i] = (float)(expf(scale * in[i] - m) / sum);
}
