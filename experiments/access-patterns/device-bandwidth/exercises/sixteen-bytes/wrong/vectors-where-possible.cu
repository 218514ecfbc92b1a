// out[i] = in[i]: in vectors, if the arrays begin at a multiple of 16 bytes.

extern "C" __global__ void copy(const float *in, float *out, int n)
{
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;

    if ((size_t)in % 16 == 0 && first + 3 < n) {
        *(float4 *)&out[first] = *(const float4 *)&in[first];
    } else {
        for (int i = first; i < first + 4 && i < n; i++)
            out[i] = in[i];
    }
}
