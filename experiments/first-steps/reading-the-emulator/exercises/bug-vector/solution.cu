// squares[i] = x * x + y * y + z * z of point i. `points` is x, y, z, x, y, z, ...
//
// A thread for each point, in blocks of 256.

extern "C" __global__ void distances(const float *points, float *squares, unsigned int count)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    // Every point begins at a multiple of 4 bytes, and only every other one at one of 8.
    const float *point = points + 3 * i;
    float x = point[0], y = point[1], z = point[2];
    squares[i] = x * x + y * y + z * z;
}
