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
    for (int k = 0; k <= degree; k++) {
        float power = 1;
        for (int j = 0; j < k; j++)
            power *= x;
        sum += coefficients[k] * power;
    }
    out[i] = sum;
}
