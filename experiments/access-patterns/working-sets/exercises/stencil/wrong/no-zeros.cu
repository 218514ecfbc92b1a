// out[i] = in[i - 4] + … + in[i + 4], through a tile in shared memory.

#define RADIUS 4
#define THREADS 256

extern "C" __global__ void stencil(const float *in, float *out, int n)
{
    // tile[t] is element first + t. The block's own elements begin at tile[RADIUS].
    __shared__ float tile[THREADS + 2 * RADIUS];
    int first = blockIdx.x * THREADS - RADIUS;

    // 264 elements for 256 threads: the first eight load twice.
    for (int t = threadIdx.x; t < THREADS + 2 * RADIUS; t += THREADS)
        tile[t] = in[max(0, min(first + t, n - 1))];

    // Threads beyond the end have loaded, too, and reach the barrier.
    __syncthreads();

    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n)
        return;

    float sum = 0;
    for (int k = 0; k <= 2 * RADIUS; k++)
        sum += tile[threadIdx.x + k];
    out[i] = sum;
}
