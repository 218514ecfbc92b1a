// compute: 8.9
//
// Conversions by the instructions of newer GPUs. Each converts two floats; the second
// operand becomes the lower half of the result.

// ANCHOR: instructions
#define PAIR(NAME, INSTRUCTION, HALF, BITS)                                         \
    __device__ __forceinline__ unsigned NAME##_pair(float low, float high)          \
    {                                                                               \
        HALF pair;                                                                  \
        asm(INSTRUCTION " %0, %1, %2;" : BITS(pair) : "f"(high), "f"(low));         \
        return pair;                                                                \
    }
PAIR(bf16, "cvt.rn.bf16x2.f32", unsigned, "=r")
PAIR(fp16, "cvt.rn.f16x2.f32", unsigned, "=r")
PAIR(e5m2, "cvt.rn.satfinite.e5m2x2.f32", unsigned short, "=h")
PAIR(e4m3, "cvt.rn.satfinite.e4m3x2.f32", unsigned short, "=h")

// Each thread converts four neighbours, as `to_…` do.
#define CVT(NAME, TWO)                                                              \
    extern "C" __global__ void cvt_##NAME(const float4 *from, TWO *to, size_t fours)\
    {                                                                               \
        size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;                   \
        if (i < fours) {                                                            \
            float4 x = from[i];                                                     \
            TWO y;                                                                  \
            y.x = NAME##_pair(x.x, x.y);                                            \
            y.y = NAME##_pair(x.z, x.w);                                            \
            to[i] = y;                                                              \
        }                                                                           \
    }
CVT(bf16, uint2)
CVT(fp16, uint2)
CVT(e5m2, ushort2)
CVT(e4m3, ushort2)
// ANCHOR_END: instructions
