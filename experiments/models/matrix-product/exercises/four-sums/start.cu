// c = a · b, for matrices of n × n elements, row after row.
//
// A block has 32 x 8 threads, for 8 rows of 128 elements of `c`. A thread has four of them.

extern "C" __global__ void product(const float *a, const float *b, float *c, int n)
{
    int row = blockIdx.y * 8 + threadIdx.y;
    int column = blockIdx.x * 128 + threadIdx.x;

    for (int part = 0; part < 4; part++) {
        float sum = 0;
        for (int k = 0; k < n; k++)
            sum += a[row * n + k] * b[k * n + column + 32 * part];
        c[row * n + column + 32 * part] = sum;
    }
}
