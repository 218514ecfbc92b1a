// squares[i] = x * x + y * y + z * z of point i. `points` is x, y, z, x, y, z, ...
//
// A thread for each point, in blocks of 256.

extern "C" __global__ void distances(const float *points, float *squares, unsigned int count)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    const float *point = points + 3 * i;
    float2 xy = *(const float2 *)point;
    float z = point[2];
    squares[i] = xy.x * xy.x + xy.y * xy.y + z * z;
}
