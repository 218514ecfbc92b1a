// sums[t] = in[t] + in[n + t] + in[2 n + t] + …, as a BF16 number.

// The BF16 number nearest to a float.
__device__ float bf16(float number)
{
    unsigned bits = __float_as_uint(number);
    return __uint_as_float(bits + 0x7fff + (bits >> 16 & 1) & 0xffff0000);
}

extern "C" __global__ void add_up(const unsigned char *in, float *sums, int n, int terms)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n)
        return;
    // The mean first, then what the numbers differ from it, which is small.
    float mean = 0, rest = 0;
    for (int k = 0; k < terms; k++)
        mean += in[k * n + t];
    mean = rintf(mean / terms);
    for (int k = 0; k < terms; k++)
        rest += in[k * n + t] - mean;
    sums[t] = bf16(mean * terms + rest);
}
