// From x y z x y z x y z … to x x x … y y y … z z z …: a whole point at once?

extern "C" __global__ void unzip(const float3 *points, float *arrays, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    float3 point = points[i];
    arrays[i] = point.x;
    arrays[n + i] = point.y;
    arrays[2 * n + i] = point.z;
}
