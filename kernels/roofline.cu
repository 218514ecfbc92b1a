// Is it the memory or the arithmetic? One kernel that moves the same bytes, whatever it computes.

typedef unsigned int u32;

// ANCHOR: multiply_add
__device__ float4 multiply_add(float4 x, float a, float b)
{
    return make_float4(fmaf(x.x, a, b), fmaf(x.y, a, b), fmaf(x.z, a, b), fmaf(x.w, a, b));
}

// Reads each number, puts it through STEPS multiply-adds, and writes it: 8 bytes.
template <int STEPS>
__device__ void steps(const float4 *in, float4 *out, u32 count, float a, float b)
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float4 x = in[i];
#pragma unroll 32
    for (int step = 0; step < STEPS; step++)
        x = multiply_add(x, a, b);
    out[i] = x;
}
// ANCHOR_END: multiply_add

#define KERNEL(STEPS)                                                                     \
    extern "C" __global__ void steps_##STEPS(const float4 *in, float4 *out, u32 count,     \
                                             float a, float b)                            \
    { steps<STEPS>(in, out, count, a, b); }

KERNEL(0)
KERNEL(1)
KERNEL(2)
KERNEL(4)
KERNEL(8)
KERNEL(16)
KERNEL(32)
KERNEL(64)
KERNEL(128)
KERNEL(256)
KERNEL(512)

// ANCHOR: ceiling
// The same with so many steps that the memory does not matter: `turns` times 32.
extern "C" __global__ void many_steps(const float4 *in, float4 *out, u32 count, float a, float b,
                                      u32 turns)
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float4 x = in[i];
    for (u32 turn = 0; turn < turns; turn++)
#pragma unroll
        for (int step = 0; step < 32; step++)
            x = multiply_add(x, a, b);
    out[i] = x;
}
// ANCHOR_END: ceiling
