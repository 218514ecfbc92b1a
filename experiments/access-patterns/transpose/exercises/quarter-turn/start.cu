// From pixels of three floats to three planes, turned by a quarter:
// out[colour][x][y] = in[y][x][colour], for a picture of `height` rows of `width` pixels.
//
// A block of 32 x 8 threads for each square of 32 x 32 pixels.

#define SIDE 32
#define ROWS 8
#define COLOURS 3

extern "C" __global__ void turn(const float *in, float *out, int width, int height)
{
    int x = blockIdx.x * SIDE + threadIdx.x;
    for (int row = threadIdx.y; row < SIDE; row += ROWS) {
        int y = blockIdx.y * SIDE + row;
        if (x < width && y < height)
            for (int colour = 0; colour < COLOURS; colour++)
                out[(colour * width + x) * height + y] = in[(y * width + x) * COLOURS + colour];
    }
}
