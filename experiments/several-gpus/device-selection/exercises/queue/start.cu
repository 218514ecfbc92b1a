// Job j is to write out[j][i] = 2 * in[j][i] for all i < length[j]. A row has `most` words.
//
// 8 blocks of 128 threads. *next is the first job that is left; after the launch it is `jobs` + 8.

extern "C" __global__ void work(const unsigned int *in, const unsigned int *length,
                                unsigned int *out, unsigned int jobs, unsigned int most,
                                unsigned int *next)
{
    for (unsigned int job = *next + blockIdx.x; job < jobs; job += gridDim.x)
        for (unsigned int i = threadIdx.x; i < length[job]; i += blockDim.x)
            out[job * most + i] = 2 * in[job * most + i];
}
