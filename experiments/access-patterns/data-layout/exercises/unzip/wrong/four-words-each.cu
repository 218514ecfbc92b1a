// From x y z x y z x y z … to x x x … y y y … z z z …, through a tile in shared memory.

#define THREADS 256

extern "C" __global__ void unzip(const float *points, float *arrays, int n)
{
    // x, y, z of one point after the other, each with an unused word.
    __shared__ float tile[4 * THREADS];
    int first = blockIdx.x * THREADS;

    // 768 floats in three steps, neighbours in each. The last block has fewer.
    for (int k = threadIdx.x; k < 3 * THREADS; k += THREADS)
        if (3 * first + k < 3 * n)
            tile[k / 3 * 4 + k % 3] = points[3 * first + k];

    __syncthreads();

    int i = first + threadIdx.x;
    if (i < n)
        for (int axis = 0; axis < 3; axis++)
            arrays[axis * n + i] = tile[4 * threadIdx.x + axis];
}
