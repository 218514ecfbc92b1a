// From pixels of three floats to three planes, turned by a quarter:
// out[colour][x][y] = in[y][x][colour], for a picture of `height` rows of `width` pixels.
//
// A block of 32 x 8 threads for each square of 32 x 32 pixels.

#define SIDE 32
#define ROWS 8
#define COLOURS 3

// How far rows and colours are apart in the tile. A column is read without a conflict because
// PITCH is odd. Neighbouring floats are written without one because colours are 11 banks apart:
// 32 floats are of 11 pixels and 3 colours, and 11 + 11 + 11 is just more than 32.
#define PITCH 33
#define PLANE (SIDE * PITCH + 11)

extern "C" __global__ void turn(const float *in, float *out, int width, int height)
{
    __shared__ float tile[COLOURS * PLANE];
    int left = blockIdx.x * SIDE, top = blockIdx.y * SIDE;

    // A row of the square has 96 floats, three for each thread.
    for (int row = threadIdx.y; row < SIDE; row += ROWS)
        for (int k = threadIdx.x; k < COLOURS * SIDE; k += SIDE)
            if (top + row < height && left + k / COLOURS < width)
                tile[k % COLOURS * PLANE + row * PITCH + k / COLOURS] =
                    in[((top + row) * width + left) * COLOURS + k];

    __syncthreads();

    // A column of the square is a piece of a plane's row.
    for (int colour = 0; colour < COLOURS; colour++)
        for (int column = threadIdx.y; column < SIDE; column += ROWS) {
            int x = left + column, y = top + threadIdx.x;
            if (x < width && y < height)
                out[(colour * width + x) * height + y] =
                    tile[colour * PLANE + threadIdx.x * PITCH + column];
        }
}
