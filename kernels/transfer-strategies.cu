// Work of any intensity on any data: each thread loads one float, does `rounds` fused
// multiply-adds on it, and stores it. With a = b = 1 a round adds one, exactly, as long as
// the sum stays below 2^24; but the compiler does not know a and b, so it computes.

// ANCHOR: work
extern "C" __global__ void work(const float *in, float *out, size_t count,
                                unsigned int rounds, float a, float b)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float x = in[i];
#pragma unroll 64
    for (unsigned int k = 0; k < rounds; k++)
        x = fmaf(x, a, b); // 2 FLOP
    out[i] = x;
}
// ANCHOR_END: work

// ANCHOR: read
// Touches everything once and keeps almost nothing: adds up all words.
extern "C" __global__ void read(const uint4 *in, unsigned int *sum, size_t count)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    unsigned int mine = 0;
#pragma unroll 4
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        uint4 v = in[i];
        mine += v.x + v.y + v.z + v.w;
    }
    for (int lanes = 16; lanes > 0; lanes /= 2)
        mine += __shfl_xor_sync(0xffffffffu, mine, lanes);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, mine);
}
// ANCHOR_END: read
