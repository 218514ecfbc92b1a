// out[y][x] = in[y][width - 1 - x]: a picture in a mirror, a byte for each pixel.
//
// A block has 32 x 8 threads. There are as many blocks as it takes to cover the picture, along x
// and along y.

extern "C" __global__ void mirror(
    const unsigned char *in, unsigned char *out, unsigned int width, unsigned int height)
{
    unsigned int x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int y = 0;
    if (x < width)
        out[y * width + x] = in[y * width + width - 1 - x];
}
