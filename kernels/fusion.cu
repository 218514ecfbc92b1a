// Elementwise steps in a row, one kernel for each or one for all; and the softmax of rows.

// ANCHOR: chain
// One step: scale, shift and fold, y = 1 - 1.9 |x|. It keeps numbers between -1 and 1, and
// two that differ drift apart, so a step too many or too few shows.
__device__ float step(float x)
{
    return fmaf(-1.9f, fabsf(x), 1.0f);
}

// `steps` steps for each number, between one load and one store. Launched once with all
// steps it is fused; launched for each step with 1, it is what a framework does.
extern "C" __global__ void chain(const float4 *in, float4 *out, size_t quads,
                                 unsigned int steps)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= quads)
        return;
    float4 x = in[i];
    for (unsigned int s = 0; s < steps; s++)
        x = {step(x.x), step(x.y), step(x.z), step(x.w)};
    out[i] = x;
}
// ANCHOR_END: chain

// ANCHOR: layer
// y = gelu(x * scale + bias) + residual: four operations of a framework, four kernels.
// GELU in the form with tanh, which is x times a sigmoid.
__device__ float gelu(float x)
{
    return x / (1 + expf(-1.5957691f * (x + 0.044715f * x * x * x)));
}

// out[i] = at(x[i], y[i]), four numbers at once.
template <class F>
__device__ void each(const float4 *xs, const float4 *ys, float4 *out, size_t quads, F at)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= quads)
        return;
    float4 x = xs[i], y = ys[i];
    out[i] = {at(x.x, y.x), at(x.y, y.y), at(x.z, y.z), at(x.w, y.w)};
}

extern "C" __global__ void multiply(const float4 *x, float4 *out, size_t quads, float by)
{
    each(x, x, out, quads, [=](float x, float) { return x * by; });
}

extern "C" __global__ void shift(const float4 *x, float4 *out, size_t quads, float by)
{
    each(x, x, out, quads, [=](float x, float) { return x + by; });
}

extern "C" __global__ void activate(const float4 *x, float4 *out, size_t quads)
{
    each(x, x, out, quads, [](float x, float) { return gelu(x); });
}

extern "C" __global__ void add(const float4 *x, const float4 *residual, float4 *out,
                               size_t quads)
{
    each(x, residual, out, quads, [](float x, float r) { return x + r; });
}

// The same in one.
extern "C" __global__ void layer(const float4 *x, const float4 *residual, float4 *out,
                                 size_t quads, float scale, float bias)
{
    each(x, residual, out, quads,
         [=](float x, float r) { return gelu(x * scale + bias) + r; });
}
// ANCHOR_END: layer

// A block of 256 threads has a row to itself, and a thread takes every 256th column.
#define THREADS 256
// Numbers of a row that a thread keeps: rows of up to 4096 columns.
#define KEPT 16
#define INFINITY __int_as_float(0x7f800000)

// The largest of the block's numbers, or their sum, in every thread.
template <class F>
__device__ float over_block(float x, F combine)
{
    __shared__ float warps[THREADS / 32];
    for (int step = 16; step > 0; step /= 2)
        x = combine(x, __shfl_xor_sync(0xffffffff, x, step));
    __syncthreads(); // the threads are done with what the last call left there
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = x;
    __syncthreads();
    x = warps[0];
    for (int warp = 1; warp < THREADS / 32; warp++)
        x = combine(x, warps[warp]);
    return x;
}

__device__ float largest(float x)
{
    return over_block(x, [](float a, float b) { return fmaxf(a, b); });
}

__device__ float sum(float x)
{
    return over_block(x, [](float a, float b) { return a + b; });
}

// ANCHOR: walks
// One walk along the row for its largest number, one for the sum, one for the result.
__device__ float largest_of(const float *row, int columns)
{
    float most = -INFINITY;
    for (int column = threadIdx.x; column < columns; column += THREADS)
        most = fmaxf(most, row[column]);
    return largest(most);
}

__device__ float sum_of(const float *row, int columns, float most)
{
    float part = 0;
    for (int column = threadIdx.x; column < columns; column += THREADS)
        part += expf(row[column] - most);
    return sum(part);
}

__device__ void divide(const float *row, float *out, int columns, float most, float total)
{
    for (int column = threadIdx.x; column < columns; column += THREADS)
        out[column] = expf(row[column] - most) / total;
}

// A kernel for each walk. Between them, two numbers of each row go through memory.
extern "C" __global__ void row_largest(const float *in, float *most, int columns)
{
    float found = largest_of(in + (size_t)blockIdx.x * columns, columns);
    if (threadIdx.x == 0)
        most[blockIdx.x] = found;
}

extern "C" __global__ void row_sum(const float *in, const float *most, float *total,
                                   int columns)
{
    float found = sum_of(in + (size_t)blockIdx.x * columns, columns, most[blockIdx.x]);
    if (threadIdx.x == 0)
        total[blockIdx.x] = found;
}

extern "C" __global__ void row_divide(const float *in, const float *most,
                                      const float *total, float *out, int columns)
{
    size_t start = (size_t)blockIdx.x * columns;
    divide(in + start, out + start, columns, most[blockIdx.x], total[blockIdx.x]);
}

// One kernel that walks three times.
extern "C" __global__ void softmax_walks(const float *in, float *out, int columns)
{
    size_t start = (size_t)blockIdx.x * columns;
    float most = largest_of(in + start, columns);
    float total = sum_of(in + start, columns, most);
    divide(in + start, out + start, columns, most, total);
}
// ANCHOR_END: walks

// ANCHOR: kept
// One kernel that walks once and keeps the row in registers.
extern "C" __global__ void softmax_kept(const float *in, float *out, int columns)
{
    size_t start = (size_t)blockIdx.x * columns;
    float x[KEPT];
    float most = -INFINITY;
#pragma unroll
    for (int k = 0; k < KEPT; k++) {
        int column = threadIdx.x + k * THREADS;
        x[k] = column < columns ? in[start + column] : -INFINITY;
        most = fmaxf(most, x[k]);
    }
    most = largest(most);
    float part = 0;
#pragma unroll
    for (int k = 0; k < KEPT; k++) {
        x[k] = expf(x[k] - most); // 0 beyond the row's end
        part += x[k];
    }
    float total = sum(part);
#pragma unroll
    for (int k = 0; k < KEPT; k++) {
        int column = threadIdx.x + k * THREADS;
        if (column < columns)
            out[start + column] = x[k] / total;
    }
}
// ANCHOR_END: kept
