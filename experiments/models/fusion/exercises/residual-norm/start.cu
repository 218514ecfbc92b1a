// h = x + r, and y = h / sqrt(mean of h * h in the row + 1e-5) * w.
//
// A block of 256 threads for each row of `columns` numbers, of which there are at most 2048.

#define THREADS 256

extern "C" __global__ void residual_norm(const float *x, const float *r, const float *w,
                                         float *h, float *y, int columns)
{
    __shared__ float squares;
    size_t row = (size_t)blockIdx.x * columns;

    for (int c = threadIdx.x; c < columns; c += THREADS)
        h[row + c] = x[row + c] + r[row + c];
    if (threadIdx.x == 0)
        squares = 0;
    __syncthreads();

    float mine = 0;
    for (int c = threadIdx.x; c < columns; c += THREADS)
        mine += h[row + c] * h[row + c];
    atomicAdd(&squares, mine);
    __syncthreads();

    float scale = rsqrtf(squares / columns + 1e-5f);
    for (int c = threadIdx.x; c < columns; c += THREADS)
        y[row + c] = h[row + c] * scale * w[c];
}
