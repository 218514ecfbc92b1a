// steps[i] = in[i + 1] - in[i]. `in` has `count` elements, `steps` one less.
//
// There are `count` threads or somewhat more, in blocks of 256.

extern "C" __global__ void differences(const int *in, int *steps, unsigned int count)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0)
        for (unsigned int k = 0; k + 1 < count; k++)
            steps[k] = in[k + 1] - in[k];
}
