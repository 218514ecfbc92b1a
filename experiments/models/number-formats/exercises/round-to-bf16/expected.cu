// What every word of `out` has to be.
__device__ unsigned nearest(float number)
{
    // The step of BF16 here: a 128th of the power of two at or below the number. `rintf`
    // rounds to the nearest whole number, ties to the even one.
    float step = __uint_as_float(__float_as_uint(number) & 0x7f800000) / 128;
    float rounded = number == 0 ? number : rintf(number / step) * step;
    return __float_as_uint(rounded) >> 16;
}

extern "C" __global__ void expected(const float *in, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2)
        out[i] = nearest(in[2 * i + 1]) << 16 | nearest(in[2 * i]);
}
