// From seven arrays, one after the other in `arrays`, to an array of structures of seven floats:
// particles[7 * i + field] = arrays[field * n + i].
//
// A thread for each particle, in blocks of 256.

#define FIELDS 7

extern "C" __global__ void zip(const float *arrays, float *particles, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        for (int field = 0; field < FIELDS; field++)
            particles[FIELDS * i + field] = arrays[field * n + i];
}
