// c = a · b, for matrices of rows × inner and inner × columns elements, row after row.
//
// A block has 32 x 32 threads, and is for a square of `c`: threadIdx.x runs along its rows.

#define SIDE 32

extern "C" __global__ void product(const float *a, const float *b, float *c,
                                   int rows, int inner, int columns)
{
    int column = blockIdx.x * SIDE + threadIdx.x;
    int row = blockIdx.y * SIDE + threadIdx.y;
    if (row >= rows || column >= columns)
        return;

    float sum = 0;
    for (int k = 0; k < inner; k++)
        sum += a[row * inner + k] * b[k * columns + column];
    c[row * columns + column] = sum;
}
