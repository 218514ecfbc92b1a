// c = a · b, for matrices of rows × inner and inner × columns elements, through tiles.
//
// A block has 16 x 16 threads, and is for a square of 64 x 64 elements of `c`.

#define SIDE 64
#define DEEP 16

extern "C" __global__ void product(const float *a, const float *b, float *c,
                                   int rows, int inner, int columns)
{
    __shared__ float tile_a[SIDE][DEEP], tile_b[DEEP][SIDE];
    int x = threadIdx.x, y = threadIdx.y;
    int left = blockIdx.x * SIDE, top = blockIdx.y * SIDE;

    // Sixteen sums for each thread, at once.
    float sum[4][4] = {};
    for (int first = 0; first < inner; first += DEEP) {
        for (int p = 0; p < 4; p++) {
            int i = top + y + 16 * p, j = left + x + 16 * p;
            tile_a[y + 16 * p][x] = i < rows && first + x < inner ? a[i * inner + first + x] : 0;
            tile_b[y][x + 16 * p] = first + y < inner && j < columns ? b[(first + y) * columns + j] : 0;
        }
        __syncthreads();

        // Four numbers of each tile serve sixteen multiplications.
        for (int k = 0; k < DEEP; k++) {
            float of_a[4], of_b[4];
            for (int p = 0; p < 4; p++) {
                of_a[p] = tile_a[y + 16 * p][k];
                of_b[p] = tile_b[k][x + 16 * p];
            }
            for (int p = 0; p < 4; p++)
                for (int q = 0; q < 4; q++)
                    sum[p][q] += of_a[p] * of_b[q];
        }
        __syncthreads();
    }

    for (int p = 0; p < 4; p++)
        for (int q = 0; q < 4; q++) {
            int row = top + y + 16 * p, column = left + x + 16 * q;
            if (row < rows && column < columns)
                c[row * columns + column] = sum[p][q];
        }
}
