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

    // Sixteen elements for each thread, one after the other.
    #pragma unroll 1
    for (int element = 0; element < 16; element++) {
        int column = x + 16 * (element % 4), row = y + 16 * (element / 4);
        float sum = 0;
        for (int first = 0; first < inner; first += DEEP) {
            for (int p = 0; p < 4; p++) {
                int i = top + y + 16 * p, j = left + x + 16 * p;
                tile_a[y + 16 * p][x] = i < rows && first + x < inner ? a[i * inner + first + x] : 0;
                tile_b[y][x + 16 * p] = first + y < inner && j < columns ? b[(first + y) * columns + j] : 0;
            }
            __syncthreads();

            for (int k = 0; k < DEEP; k++)
                sum += tile_a[row][k] * tile_b[k][column];
            __syncthreads();
        }
        if (top + row < rows && left + column < columns)
            c[(top + row) * columns + left + column] = sum;
    }
}
