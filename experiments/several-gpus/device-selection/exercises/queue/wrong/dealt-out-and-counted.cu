// Job j is to write out[j][i] = 2 * in[j][i] for all i < length[j]. A row has `most` words.

extern "C" __global__ void work(const unsigned int *in, const unsigned int *length,
                                unsigned int *out, unsigned int jobs, unsigned int most,
                                unsigned int *next)
{
    __shared__ unsigned int first;

    if (threadIdx.x == 0)
        first = *next;
    __syncthreads();
    for (unsigned int job = first + blockIdx.x; job < jobs; job += gridDim.x) {
        if (threadIdx.x == 0)
            atomicAdd(next, 1); // and nothing asks what it gives
        for (unsigned int i = threadIdx.x; i < length[job]; i += blockDim.x)
            out[job * most + i] = 2 * in[job * most + i];
    }
    if (threadIdx.x == 0)
        atomicAdd(next, 1);
}
