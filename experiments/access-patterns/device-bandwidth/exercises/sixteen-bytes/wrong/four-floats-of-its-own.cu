// out[i] = in[i]: each thread copies four neighbours.

extern "C" __global__ void copy(const float *in, float *out, int n)
{
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;

    for (int i = first; i < first + 4 && i < n; i++)
        out[i] = in[i];
}
