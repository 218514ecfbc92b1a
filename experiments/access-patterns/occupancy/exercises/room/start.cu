// out[i] = the sum of in[i] and of the pixels before it in its block.
//
// A thread for each pixel, in blocks of 256.

#define THREADS 256
#define STEPS 8

__device__ uint4 add(uint4 a, uint4 b)
{
    return make_uint4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

extern "C" __global__ void totals(const uint4 *in, uint4 *out, unsigned int count)
{
    __shared__ uint4 rows[STEPS + 1][THREADS]; // what there is before each step, and at the end
    unsigned int me = threadIdx.x, i = blockIdx.x * THREADS + me;

    rows[0][me] = i < count ? in[i] : make_uint4(0, 0, 0, 0);
    __syncthreads();
    for (int step = 0; step < STEPS; step++) {
        unsigned int distance = 1u << step;
        uint4 sum = rows[step][me];
        if (me >= distance)
            sum = add(sum, rows[step][me - distance]);
        rows[step + 1][me] = sum;
        __syncthreads();
    }
    if (i < count)
        out[i] = rows[STEPS][me];
}
