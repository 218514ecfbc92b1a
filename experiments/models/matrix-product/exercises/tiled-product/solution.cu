// c = a · b, for matrices of rows × inner and inner × columns elements, through tiles.

#define SIDE 32

extern "C" __global__ void product(const float *a, const float *b, float *c,
                                   int rows, int inner, int columns)
{
    __shared__ float tile_a[SIDE][SIDE], tile_b[SIDE][SIDE];
    int x = threadIdx.x, y = threadIdx.y;
    int column = blockIdx.x * SIDE + x;
    int row = blockIdx.y * SIDE + y;

    float sum = 0;
    for (int first = 0; first < inner; first += SIDE) {
        // In both matrices threadIdx.x runs along a row. Zeros beyond the edges add nothing.
        tile_a[y][x] = row < rows && first + x < inner ? a[row * inner + first + x] : 0;
        tile_b[y][x] =
            first + y < inner && column < columns ? b[(first + y) * columns + column] : 0;
        __syncthreads();

        // A warp is a row of the block: one word of tile_a for all, a row of tile_b.
        for (int k = 0; k < SIDE; k++)
            sum += tile_a[y][k] * tile_b[k][x];

        // No thread may load the next squares while another still uses these.
        __syncthreads();
    }

    if (row < rows && column < columns)
        c[row * columns + column] = sum;
}
