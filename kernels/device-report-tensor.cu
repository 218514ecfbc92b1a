// compute: 8.0
// The tensor cores' rate: warps that multiply matrices in their registers, and nothing else.

typedef unsigned int u32;

// Matrices in flight for each warp: products that do not need each other.
#define CHAINS 4
// Products in a turn of the loop.
#define TURN 32

// 16 × 16 times 16 × 8 numbers of bfloat16, added up in single precision: 2048 multiplications
// and additions. Row r of the first matrix is full of r + 1, the second of ones, so that each
// product adds 16 (r + 1) to row r.
extern "C" __global__ void mma_bf16(float *out, long long *cycles, u32 turns)
{
    u32 lane = threadIdx.x % 32, row = lane / 4;
    // The upper half of a float is a bfloat16.
    u32 one = __float_as_uint(1.0f), upper = __float_as_uint(row + 1.0f);
    u32 lower = __float_as_uint(row + 9.0f);
    one |= one >> 16, upper |= upper >> 16, lower |= lower >> 16;

    float sum[CHAINS][4] = {};
    __syncthreads();
    long long begin = clock64();
    // ANCHOR: mma
    for (u32 turn = 0; turn < turns; turn++)
#pragma unroll
        for (u32 i = 0; i < TURN / CHAINS; i++)
#pragma unroll
            for (u32 chain = 0; chain < CHAINS; chain++)
                asm volatile(
                    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                    "{%0, %1, %2, %3}, {%4, %5, %4, %5}, {%6, %6}, {%0, %1, %2, %3};"
                    : "+f"(sum[chain][0]), "+f"(sum[chain][1]),
                      "+f"(sum[chain][2]), "+f"(sum[chain][3])
                    : "r"(upper), "r"(lower), "r"(one));
    // ANCHOR_END: mma
    __syncthreads();
    if (threadIdx.x == 0)
        cycles[blockIdx.x] = clock64() - begin;

    float *mine = out + ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * 4 * CHAINS;
    for (u32 chain = 0; chain < CHAINS; chain++)
        for (u32 i = 0; i < 4; i++)
            mine[4 * chain + i] = sum[chain][i];
}
