// out[i] = 255 - in[i], for i from 0 to n - 1. n is a multiple of 16.

extern "C" __global__ void negative(const unsigned char *in, unsigned char *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x; // which 16 pixels
    if (i >= n / 16)
        return;

    uint4 pixels = ((const uint4 *)in)[i];
    // 255 - x is x with all eight bits inverted, so a word's four bytes need no taking apart.
    pixels.x = ~pixels.x;
    pixels.y = ~pixels.y;
    pixels.z = ~pixels.z;
    pixels.w = ~pixels.w;
    ((uint4 *)out)[i] = pixels;
}
