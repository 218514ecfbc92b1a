// compute: 8.9
// Products of matrices by tensor cores, in the lanes' own registers.

typedef unsigned int word;

// Each lane's registers: those of A, of B, of C; what comes out goes to where C was.
#define OF_FOUR_AND_TWO(name, instruction)                                          \
    extern "C" __global__ void name(const word *a, const word *b, word *c)          \
    {                                                                               \
        a += 4 * threadIdx.x;                                                       \
        b += 2 * threadIdx.x;                                                       \
        c += 4 * threadIdx.x;                                                       \
        asm volatile(instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "  \
            "{%0, %1, %2, %3};"                                                     \
            : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                        \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));    \
    }

#define OF_TWO_AND_ONE(name, instruction)                                           \
    extern "C" __global__ void name(const word *a, const word *b, word *c)          \
    {                                                                               \
        a += 2 * threadIdx.x;                                                       \
        b += threadIdx.x;                                                           \
        c += 4 * threadIdx.x;                                                       \
        asm volatile(instruction " {%0, %1, %2, %3}, {%4, %5}, {%6}, "              \
            "{%0, %1, %2, %3};"                                                     \
            : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                        \
            : "r"(a[0]), "r"(a[1]), "r"(b[0]));                                     \
    }

OF_FOUR_AND_TWO(bf16_k16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
OF_FOUR_AND_TWO(f16_k16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
OF_FOUR_AND_TWO(tf32_k8, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
OF_FOUR_AND_TWO(s8_k32, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
OF_FOUR_AND_TWO(u8_s8_k32, "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32")
OF_FOUR_AND_TWO(s8_k32_satfinite, "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32")
OF_TWO_AND_ONE(bf16_k8, "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32")
OF_TWO_AND_ONE(f16_k8, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
OF_FOUR_AND_TWO(e4m3_k32, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
OF_FOUR_AND_TWO(e5m2_e4m3_k32, "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32")

// Sums in halves: two registers of C.
extern "C" __global__ void f16_sums(const word *a, const word *b, word *c)
{
    a += 4 * threadIdx.x;
    b += 2 * threadIdx.x;
    c += 2 * threadIdx.x;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, "
        "{%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
        : "+r"(c[0]), "+r"(c[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Of doubles, and of the smallest shape.
extern "C" __global__ void f64_k4(const double *a, const double *b, double *c)
{
    c += 2 * threadIdx.x;
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, "
        "{%0, %1};"
        : "+d"(c[0]), "+d"(c[1]) : "d"(a[threadIdx.x]), "d"(b[threadIdx.x]));
}

__device__ word shared_address(const void *pointer)
{
    return (word)__cvta_generic_to_shared(pointer);
}

// Four matrices of 8 by 8 halves, one below the other in rows of `pitch` halves.
extern "C" __global__ void load_four(const unsigned short *in, word *out, int pitch)
{
    __shared__ __align__(16) unsigned short tile[32 * 72];
    for (int i = threadIdx.x; i < 32 * 8; i += 32)
        tile[i / 8 * pitch + i % 8] = in[i];
    __syncwarp();
    word *own = out + 8 * threadIdx.x;
    word row = shared_address(tile + threadIdx.x * pitch);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(own[0]), "=r"(own[1]), "=r"(own[2]), "=r"(own[3]) : "r"(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(own[4]), "=r"(own[5]), "=r"(own[6]), "=r"(own[7]) : "r"(row));
}

// One and two matrices: the other lanes' addresses do not matter.
extern "C" __global__ void load_one_and_two(const unsigned short *in, word *out)
{
    __shared__ __align__(16) unsigned short tile[128];
    for (int i = threadIdx.x; i < 128; i += 32)
        tile[i] = in[i];
    __syncwarp();
    word one = threadIdx.x < 8 ? shared_address(tile + 8 * threadIdx.x) : 0xffffffff;
    word two = threadIdx.x < 16 ? shared_address(tile + 8 * threadIdx.x) : 1;
    word *own = out + 3 * threadIdx.x;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
        : "=r"(own[0]) : "r"(one));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
        : "=r"(own[1]), "=r"(own[2]) : "r"(two));
}

// What `nvcuda::wmma` becomes: C += A B, of halves and floats, with A and B in any layout.
#define WMMA(name, a_layout, b_layout)                                                    \
    extern "C" __global__ void name(const unsigned short *a, const unsigned short *b,     \
        float *c, int stride)                                                             \
    {                                                                                     \
        asm volatile("{"                                                                  \
            ".reg .b32 a<8>, b<8>; .reg .f32 c<8>;"                                       \
            "wmma.load.a.sync.aligned." a_layout ".m16n16k16.global.f16 "                 \
            "{a0, a1, a2, a3, a4, a5, a6, a7}, [%0], %3;"                                 \
            "wmma.load.b.sync.aligned." b_layout ".m16n16k16.f16 "                        \
            "{b0, b1, b2, b3, b4, b5, b6, b7}, [%1], %3;"                                 \
            "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 "                          \
            "{c0, c1, c2, c3, c4, c5, c6, c7}, [%2], %3;"                                 \
            "wmma.mma.sync.aligned." a_layout "." b_layout ".m16n16k16.f32.f32 "          \
            "{c0, c1, c2, c3, c4, c5, c6, c7}, {a0, a1, a2, a3, a4, a5, a6, a7}, "        \
            "{b0, b1, b2, b3, b4, b5, b6, b7}, {c0, c1, c2, c3, c4, c5, c6, c7};"         \
            "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%2], "                   \
            "{c0, c1, c2, c3, c4, c5, c6, c7}, %3;"                                       \
            "}" : : "l"(a), "l"(b), "l"(c), "r"(stride) : "memory");                      \
    }

WMMA(wmma_row_col, "row", "col")
WMMA(wmma_row_row, "row", "row")
WMMA(wmma_col_col, "col", "col")
WMMA(wmma_col_row, "col", "row")

// Of bf16, from shared memory, stored by columns.
extern "C" __global__ void wmma_bf16(const word *a, const word *b, float *d)
{
    __shared__ __align__(32) word tiles[2][128];
    for (int i = threadIdx.x; i < 128; i += 32) {
        tiles[0][i] = a[i];
        tiles[1][i] = b[i];
    }
    __syncwarp();
    asm volatile("{"
        ".reg .b32 a<4>, b<4>; .reg .f32 d<8>, z;"
        "mov.f32 z, 0f00000000;"
        "wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16 {a0, a1, a2, a3}, [%0], 16;"
        "wmma.load.b.sync.aligned.row.m16n16k16.shared.bf16 {b0, b1, b2, b3}, [%1], 16;"
        "wmma.mma.sync.aligned.row.row.m16n16k16.f32.bf16.bf16.f32 "
        "{d0, d1, d2, d3, d4, d5, d6, d7}, {a0, a1, a2, a3}, {b0, b1, b2, b3}, "
        "{z, z, z, z, z, z, z, z};"
        "wmma.store.d.sync.aligned.col.m16n16k16.global.f32 [%2], "
        "{d0, d1, d2, d3, d4, d5, d6, d7}, 16;"
        "}" : : "r"(shared_address(tiles[0])), "r"(shared_address(tiles[1])), "l"(d)
        : "memory");
}

// Conversions, each of a float of its own and the next: two words for each thread and form.
extern "C" __global__ void conversions(const float *in, word *out)
{
    float x = in[2 * threadIdx.x], y = in[2 * threadIdx.x + 1];
    out += 10 * threadIdx.x;
    unsigned short small, wide;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(out[0]) : "f"(x));
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(small) : "f"(x), "f"(y));
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(wide) : "f"(x), "f"(y));
    out[1] = small;
    out[2] = wide;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(out[3]) : "h"(small));
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(out[4]) : "h"(wide));
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out[5]) : "f"(x), "f"(y));
    asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(out[6]) : "f"(x), "f"(y));
    asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(out[7]) : "f"(x), "f"(y));
    asm("fma.rn.bf16x2 %0, %1, %1, %1;" : "=r"(out[8]) : "r"(out[5]));
    asm("fma.rn.relu.f16x2 %0, %1, %1, %1;" : "=r"(out[9]) : "r"(out[3]));
}

// Mistakes.

extern "C" __global__ void half_a_warp(word *c)
{
    word one = 0x3f803f80;
    float d[4] = {};
    if (threadIdx.x < 16)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(one));
    c[threadIdx.x] = d[0];
}

extern "C" __global__ void rows_of_15_bytes(word *out)
{
    __shared__ __align__(16) unsigned short tile[256];
    tile[threadIdx.x] = 0;
    __syncwarp();
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
        : "=r"(out[threadIdx.x]) : "r"(shared_address(tile + threadIdx.x)));
}

// Row 3 is not written: what is computed from it must not be stored, and the rest may.
extern "C" __global__ void a_row_is_missing(word *out, int stores_all)
{
    __shared__ __align__(16) word tile[16][8];
    for (int row = 0; row < 16; row++)
        if (row != 3 && threadIdx.x < 8)
            tile[row][threadIdx.x] = 0x3f803f80;
    __syncwarp();
    word a[4];
    int lane = threadIdx.x;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
        : "r"(shared_address(&tile[lane % 16][lane / 16 * 4])));
    word one = 0x3f803f80;
    float d[4] = {};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %8}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(one));
    if (lane / 4 != 3 || stores_all)
        out[lane] = __float_as_uint(d[0]);
    out[32 + lane] = __float_as_uint(d[3]);
}

// One warp writes what the other loads.
extern "C" __global__ void a_race(word *out)
{
    __shared__ __align__(16) word tile[2][32];
    tile[threadIdx.x / 32][threadIdx.x % 32] = threadIdx.x;
    __syncwarp();
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
        : "=r"(out[threadIdx.x])
        : "r"(shared_address(&tile[1 - threadIdx.x / 32][threadIdx.x % 8 * 4])));
}
