// out[y][x] = in[y][width - 1 - x]: a picture in a mirror, a byte for each pixel.
//
// A block has 32 x 8 threads. There are as many blocks as it takes to cover the picture, along x
// and along y.

extern "C" __global__ void mirror(
    const unsigned char *in, unsigned char *out, unsigned int width, unsigned int height)
{
    unsigned int x = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (x < width && y < height) // an edge at the right, and one at the bottom
        out[y * width + x] = in[y * width + width - 1 - x];
}
