// Running sums of each run of eight: out[8 r + j] = in[8 r] + … + in[8 r + j].

#define THREADS 256
#define RUN 8

// Where the block's element k is in the tile.
__device__ int place(int k)
{
    return k % RUN * THREADS + k / RUN;
}

extern "C" __global__ void runs(const float *in, float *out, int n)
{
    __shared__ float tile[THREADS * RUN];
    int first = blockIdx.x * THREADS * RUN;

    for (int k = threadIdx.x; k < THREADS * RUN; k += THREADS)
        tile[place(k)] = first + k < n ? in[first + k] : 0;
    __syncthreads();

    float sum = 0;
    for (int j = 0; j < RUN; j++) {
        int k = threadIdx.x * RUN + j;
        sum += tile[place(k)];
        tile[place(k)] = sum;
    }
    __syncthreads();

    for (int k = threadIdx.x; k < THREADS * RUN; k += THREADS)
        if (first + k < n)
            out[first + k] = tile[place(k)];
}
