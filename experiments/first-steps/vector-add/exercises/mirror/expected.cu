// What every pixel of `out` has to be.
extern "C" __global__ void expected(
    const unsigned char *in, unsigned char *out, int width, int height)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < width * height) {
        int y = i / width, x = i % width;
        out[i] = in[y * width + width - 1 - x];
    }
}
