// A layer y = max(x · w, 0), and its backward pass. A matrix lies row after row: x has a row for
// each sample, w one for each input of the layer.
//
// Blocks are 16 × 16 threads, and each makes a tile of the product. These are simple
// kernels: a library's are many times as fast, forward and backward alike.

#define TILE 16

// Element (row, column) of a · b, or with one of them transposed in memory. Each sum is
// added up in the same order, so that the same inputs give the same bits.
template <bool A_TRANSPOSED, bool B_TRANSPOSED>
__device__ float product(const float *a, const float *b, int rows, int columns, int inner)
{
    __shared__ float as[TILE][TILE + 1], bs[TILE][TILE + 1];
    int x = threadIdx.x, y = threadIdx.y;
    int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    float sum = 0;
    for (int start = 0; start < inner; start += TILE) {
        // Neighbouring threads load neighbours, whichever way the matrix lies.
        if (A_TRANSPOSED) {
            int k = start + y, row = top + x;
            as[x][y] = k < inner && row < rows ? a[(size_t)k * rows + row] : 0;
        } else {
            int k = start + x, row = top + y;
            as[y][x] = k < inner && row < rows ? a[(size_t)row * inner + k] : 0;
        }
        if (B_TRANSPOSED) {
            int k = start + x, column = left + y;
            bs[x][y] = k < inner && column < columns ? b[(size_t)column * inner + k] : 0;
        } else {
            int k = start + y, column = left + x;
            bs[y][x] = k < inner && column < columns ? b[(size_t)k * columns + column] : 0;
        }
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum = fmaf(as[y][k], bs[k][x], sum);
        __syncthreads();
    }
    return sum;
}

// ANCHOR: layer
// y = max(x · w, 0).
extern "C" __global__ void forward(const float *x, const float *w, float *y, int samples,
                                   int inputs, int outputs)
{
    float sum = product<false, false>(x, w, samples, outputs, inputs);
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    if (row < samples && column < outputs)
        y[(size_t)row * outputs + column] = fmaxf(sum, 0);
}

// dw = xᵀ · dz: the weights' gradient needs what went into the layer.
extern "C" __global__ void weights_back(const float *x, const float *dz, float *dw,
                                        int samples, int inputs, int outputs)
{
    float sum = product<true, false>(x, dz, inputs, outputs, samples);
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    if (row < inputs && column < outputs)
        dw[(size_t)row * outputs + column] = sum;
}

// The gradient for the layer before: dz · wᵀ where its output was above 0, and else 0.
extern "C" __global__ void inputs_back(const float *x, const float *dz, const float *w,
                                       float *before, int samples, int inputs, int outputs)
{
    float sum = product<false, true>(dz, w, samples, inputs, outputs);
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    if (row < samples && column < inputs) {
        size_t i = (size_t)row * inputs + column;
        before[i] = x[i] > 0 ? sum : 0;
    }
}
// ANCHOR_END: layer
