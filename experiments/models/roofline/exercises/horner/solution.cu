// out[i] = coefficients[0] + coefficients[1] * x + coefficients[2] * x² + …, where x is in[i].
//
// A thread for each number, in blocks of 256.

extern "C" __global__ void polynomial(const float *in, float *out, const float *coefficients,
                                      unsigned int count, int degree)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float x = in[i], sum = 0;
    // From the highest on: each step multiplies all that there is by x (Horner's rule).
    for (int k = degree; k >= 0; k--)
        sum = sum * x + coefficients[k];
    out[i] = sum;
}
