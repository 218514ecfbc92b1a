// squares[i] = x * x + y * y + z * z of point i. `points` is x, y, z, x, y, z, ...
//
// A thread for each point, in blocks of 256.

extern "C" __global__ void distances(const float *points, float *squares, unsigned int count)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    const float *point = points + 3 * i;
    float4 p = *(const float4 *)point;
    squares[i] = p.x * p.x + p.y * p.y + p.z * p.z;
}
