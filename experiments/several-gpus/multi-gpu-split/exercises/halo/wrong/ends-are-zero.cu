// out[i] = (in[i - 1] + in[i] + in[i + 1]) / 3 for the `words` words of one GPU's part.

extern "C" __global__ void smooth(const float *in, float *out, int words, int goes_on_left,
                                  int goes_on_right)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= words)
        return;
    // There is a neighbour within the part, and at its edge if the array goes on.
    float left = i > 0 || goes_on_left ? in[i - 1] : 0;
    float right = i < words - 1 || goes_on_right ? in[i + 1] : 0;
    out[i] = (left + in[i] + right) / 3;
}
