// From seven arrays, one after the other in `arrays`, to an array of structures of seven floats:
// particles[7 * i + field] = arrays[field * n + i].
//
// A thread for each particle, in blocks of 256.

#define FIELDS 7
#define THREADS 256

extern "C" __global__ void zip(const float *arrays, float *particles, int n)
{
    // As in `particles`: seven floats of one particle after the other.
    __shared__ float tile[FIELDS * THREADS];
    int first = blockIdx.x * THREADS;

    // The lanes write words that are 7 apart. 7 and 32 have no common divisor, so these are in
    // 32 banks, and the tile needs no padding.
    int i = first + threadIdx.x;
    if (i < n)
        for (int field = 0; field < FIELDS; field++)
            tile[FIELDS * threadIdx.x + field] = arrays[field * n + i];

    __syncthreads();

    // 1,792 floats in seven steps, neighbours in each. The last block has fewer.
    for (int k = threadIdx.x; k < FIELDS * THREADS; k += THREADS)
        if (FIELDS * first + k < FIELDS * n)
            particles[FIELDS * first + k] = tile[k];
}
