// out[i] = in[i]: vectors that begin at multiples of 16, one for each thread.

extern "C" __global__ void copy(const float *in, float *out, int n)
{
    // The first vector may begin before the piece. Then the last one is a thread too far.
    int shift = (size_t)in % 16 / 4;
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * 4 - shift;

    if (first >= 0 && first + 4 <= n) {
        *(float4 *)&out[first] = *(const float4 *)&in[first];
    } else {
        for (int i = max(first, 0); i < first + 4 && i < n; i++)
            out[i] = in[i];
    }
}
