// Kernels that keep a GPU busy in different ways: with almost nothing, with arithmetic, with copying.

typedef unsigned int u32;

// ANCHOR: spin
// Waits until so many cycles have passed, and does nothing else.
extern "C" __global__ void spin(unsigned long long *passed, unsigned long long cycles)
{
    long long start = clock64(), now;
    do
        now = clock64() - start;
    while (now < cycles);
    if (threadIdx.x == 0)
        passed[blockIdx.x] = now;
}
// ANCHOR_END: spin

// Four chains of multiplications with an addition, each of which counts up in steps of one.
extern "C" __global__ void multiply(float *out, u32 steps, float factor, float addend)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    float x[4];
#pragma unroll
    for (u32 chain = 0; chain < 4; chain++)
        x[chain] = threadIdx.x + chain;
#pragma unroll 16
    for (u32 step = 0; step < steps; step++)
#pragma unroll
        for (u32 chain = 0; chain < 4; chain++)
            x[chain] = fmaf(x[chain], factor, addend);
    out[i] = (x[0] + x[1]) + (x[2] + x[3]);
}

// Copies, four words for each thread at a time.
extern "C" __global__ void copy(const uint4 *in, uint4 *out, size_t count)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = in[i];
}
