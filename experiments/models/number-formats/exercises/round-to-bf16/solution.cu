// Two floats become two BF16 numbers in one word.

__device__ unsigned bf16(float number)
{
    unsigned bits = __float_as_uint(number);
    // Half of what is dropped, less one. A last bit of 1 makes it a half: ties go to even.
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

extern "C" __global__ void convert(const float2 *in, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2) {
        float2 two = in[i];
        out[i] = bf16(two.y) << 16 | bf16(two.x);
    }
}
