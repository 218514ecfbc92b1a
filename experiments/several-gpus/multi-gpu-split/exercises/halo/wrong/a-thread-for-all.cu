// One thread does the whole part.

extern "C" __global__ void smooth(const float *in, float *out, int words, int goes_on_left,
                                  int goes_on_right)
{
    if (blockIdx.x * blockDim.x + threadIdx.x > 0)
        return;
    for (int i = 0; i < words; i++) {
        float left = i > 0 || goes_on_left ? in[i - 1] : in[i];
        float right = i < words - 1 || goes_on_right ? in[i + 1] : in[i];
        out[i] = (left + in[i] + right) / 3;
    }
}
