// out[i] = (in[i - 1] + in[i] + in[i + 1]) / 3 for the `words` words of one GPU's part.
//
// If `goes_on_left` is 1, in[-1] is the halo; if it is 0, the array begins here. The same for
// `goes_on_right` and in[words]. A thread for each word, 256 in a block.

extern "C" __global__ void smooth(const float *in, float *out, int words, int goes_on_left,
                                  int goes_on_right)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= words)
        return;
    float left = i > 0 ? in[i - 1] : in[i];
    float right = i < words - 1 ? in[i + 1] : in[i];
    out[i] = (left + in[i] + right) / 3;
}
