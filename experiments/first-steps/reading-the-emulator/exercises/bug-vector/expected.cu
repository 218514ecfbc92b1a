// What every element of `squares` has to be.
extern "C" __global__ void expected(const float *points, float *squares, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    double x = points[3 * i], y = points[3 * i + 1], z = points[3 * i + 2];
    squares[i] = x * x + y * y + z * z;
}
