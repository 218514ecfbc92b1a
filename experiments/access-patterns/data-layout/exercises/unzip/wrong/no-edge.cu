// From x y z x y z x y z … to x x x … y y y … z z z …, through a tile in shared memory.

#define THREADS 256

extern "C" __global__ void unzip(const float *points, float *arrays, int n)
{
    // As in `points`: x, y, z of one point after the other.
    __shared__ float tile[3 * THREADS];
    int first = blockIdx.x * THREADS;

    // 768 floats in three steps, neighbours in each. The last block has fewer.
    for (int k = threadIdx.x; k < 3 * THREADS; k += THREADS)
        tile[k] = points[3 * first + k];

    __syncthreads();

    // The lanes read words that are 3 apart. 3 and 32 have no common divisor, so these are in
    // 32 banks, and the tile needs no padding.
    int i = first + threadIdx.x;
    if (i < n)
        for (int axis = 0; axis < 3; axis++)
            arrays[axis * n + i] = tile[3 * threadIdx.x + axis];
}
