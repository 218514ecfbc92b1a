// From x y z x y z x y z … to x x x … y y y … z z z …: `arrays` has three rows of n floats.
//
// Blocks have 256 threads, and there is a thread for each point.

extern "C" __global__ void unzip(const float *points, float *arrays, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    for (int axis = 0; axis < 3; axis++)
        arrays[axis * n + i] = points[3 * i + axis];
}
