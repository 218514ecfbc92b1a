// out[i] = in[i], for i from 0 to n - 1: a head of up to three floats, vectors, and a tail.

extern "C" __global__ void copy(const float *in, float *out, int n)
{
    // Floats before the first address that is a multiple of 16: 0 to 3, and no more than n.
    int head = (16 - (size_t)in % 16) % 16;
    head = min(head, n);
    int vectors = (n - head) / 4;
    int tail = head + 4 * vectors;

    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < vectors)
        ((float4 *)(out + head))[i] = ((const float4 *)(in + head))[i];

    // The first threads of the grid also copy what is left at both ends.
    if (i < head)
        out[i] = in[i];
    if (i < n - tail)
        out[tail + i] = in[tail + i];
}
