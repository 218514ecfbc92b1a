// A layer of a net, forward and back, in whole numbers that wrap around at 2^32: a sum has the same
// bits in whatever order, and on however many GPUs, it is added up. A matrix lies row after row: x
// has a row for each sample, w one for each input of the layer.
//
// A block of 256 threads makes 64 × 64 elements of a product, and each thread 4 × 4 of them.

constexpr unsigned TILE = 64, STEP = 16, THREADS = 256, EACH = 4;

// Fetches a part of a matrix for the block: TILE of its lines, and STEP of the terms that are summed.
// Neighbouring threads load neighbours, whether these are of one line or not.
template <bool LINE_AFTER_LINE>
__device__ void fetch(unsigned tile[STEP][TILE + 1], const unsigned *matrix, unsigned first,
                      unsigned lines, unsigned start, unsigned terms)
{
    for (unsigned e = threadIdx.x; e < STEP * TILE; e += THREADS) {
        unsigned term = LINE_AFTER_LINE ? e % STEP : e / TILE;
        unsigned line = LINE_AFTER_LINE ? e / STEP : e % TILE;
        size_t k = start + term, i = first + line;
        bool inside = k < terms && i < lines;
        tile[term][line] = inside ? matrix[LINE_AFTER_LINE ? i * terms + k : k * lines + i] : 0;
    }
}

// The product's element (row, column) is the sum of as many products as there are terms: of a's line
// `row` and b's line `column`. `use(row, column, sum)` is called for each element.
template <bool A_LINES, bool B_LINES, typename Use>
__device__ void product(const unsigned *a, const unsigned *b, unsigned rows, unsigned columns,
                        unsigned terms, Use use)
{
    __shared__ unsigned of_a[STEP][TILE + 1], of_b[STEP][TILE + 1];
    unsigned x = threadIdx.x % 16, y = threadIdx.x / 16;
    unsigned top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    unsigned sum[EACH][EACH] = {};
    for (unsigned start = 0; start < terms; start += STEP) {
        fetch<A_LINES>(of_a, a, top, rows, start, terms);
        fetch<B_LINES>(of_b, b, left, columns, start, terms);
        __syncthreads();
#pragma unroll 4
        for (unsigned k = 0; k < STEP; k++)
#pragma unroll
            for (unsigned p = 0; p < EACH; p++)
#pragma unroll
                for (unsigned q = 0; q < EACH; q++)
                    sum[p][q] += of_a[k][y + 16 * p] * of_b[k][x + 16 * q];
        __syncthreads();
    }
#pragma unroll
    for (unsigned p = 0; p < EACH; p++)
#pragma unroll
        for (unsigned q = 0; q < EACH; q++) {
            unsigned row = top + y + 16 * p, column = left + x + 16 * q;
            if (row < rows && column < columns)
                use(row, column, sum[p][q]);
        }
}

// ANCHOR: layer
// y = x · w; with `relu`, what is negative as a signed number becomes 0.
extern "C" __global__ void forward(const unsigned *x, const unsigned *w, unsigned *y,
                                   unsigned samples, unsigned inputs, unsigned outputs,
                                   unsigned relu)
{
    auto store = [=](unsigned row, unsigned column, unsigned sum) {
        y[(size_t)row * outputs + column] = relu && (int)sum < 0 ? 0 : sum;
    };
    product<true, false>(x, w, samples, outputs, inputs, store);
}

// dw += xᵀ · dz: the weights' gradient, of a part of the batch after the other.
extern "C" __global__ void weights_back(const unsigned *x, const unsigned *dz, unsigned *dw,
                                        unsigned samples, unsigned inputs, unsigned outputs)
{
    auto store = [=](unsigned row, unsigned column, unsigned sum) {
        dw[(size_t)row * outputs + column] += sum;
    };
    product<false, false>(x, dz, inputs, outputs, samples, store);
}

// dx = dz · wᵀ; with `relu`, only where x was above 0.
extern "C" __global__ void inputs_back(const unsigned *dz, const unsigned *w, const unsigned *x,
                                       unsigned *dx, unsigned samples, unsigned inputs,
                                       unsigned outputs, unsigned relu)
{
    auto store = [=](unsigned row, unsigned column, unsigned sum) {
        size_t i = (size_t)row * inputs + column;
        dx[i] = relu && x[i] == 0 ? 0 : sum;
    };
    product<true, true>(dz, w, samples, inputs, outputs, store);
}
// ANCHOR_END: layer

// ANCHOR: rest
// Adds what has come from others: `pieces` of `count` numbers each, one behind the other.
extern "C" __global__ void add(unsigned *sum, const unsigned *inbox, unsigned count,
                               unsigned pieces)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        for (unsigned piece = 0; piece < pieces; piece++)
            sum[i] += inbox[(size_t)piece * count + i];
}

// A step down the gradient, which is cleared for the next one.
extern "C" __global__ void update(unsigned *w, unsigned *dw, unsigned count)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        w[i] -= dw[i];
        dw[i] = 0;
    }
}
// ANCHOR_END: rest

// Rows of a larger matrix, or parts of them, with numbers that look random, by their places there.
extern "C" __global__ void fill(unsigned *memory, unsigned count, unsigned columns,
                                unsigned stride, unsigned first)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        unsigned bits = (first + i / columns * stride + i % columns + 1) * 2654435761u;
        memory[i] = (bits ^ bits >> 15) * 2654435761u;
    }
}
