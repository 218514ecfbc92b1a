// What every element of `out` has to be.
extern "C" __global__ void expected(const float *in, float *out, const float *coefficients,
                                    unsigned int count, int degree)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    double power = 1, sum = 0;
    for (int k = 0; k <= degree; k++) {
        sum += coefficients[k] * power;
        power *= in[i];
    }
    out[i] = (float)sum;
}
