// What the compiler makes sums of several words of, and other instructions that are rare.

extern "C" __global__ void sine(const double *in, double *out)
{
    double angle = in[threadIdx.x];
    out[2 * threadIdx.x] = sin(angle);
    out[2 * threadIdx.x + 1] = cos(angle);
}

// As cuda_fp16.h has it: e to the power of a half.
extern "C" __global__ void halves(const unsigned short *in, unsigned short *out)
{
    unsigned short value = in[threadIdx.x];
    asm("{.reg.b32 f, C;         \n"
        " .reg.b16 r;            \n"
        "  mov.b16 r,%1;         \n"
        "  cvt.f32.f16 f,r;      \n"
        "  mov.b32 C, 0x3fb8aa3bU;\n"
        "  mul.f32 f,f,C;        \n"
        "  ex2.approx.f32 f,f;   \n"
        "  cvt.rn.f16.f32 r,f;   \n"
        "  mov.b16 %0,r;         \n"
        "}"
        : "=h"(out[threadIdx.x])
        : "h"(value));
}

extern "C" __global__ void products_of_bytes(const int *in, int *out)
{
    int sum = __dp4a(in[0], in[1], in[2]);
    out[0] = sum;
    out[1] = __dp2a_lo(in[0], in[1], in[2]);
    out[2] = __dp2a_hi(in[0], in[1], in[2]);
    out[3] = __dp4a((unsigned int)in[0], (unsigned int)in[1], (unsigned int)in[2]);
}

extern "C" __global__ void grid_workspace(unsigned int *out)
{
    unsigned int low, high;
    asm("mov.u32 %0, %%envreg2;" : "=r"(low));
    asm("mov.u32 %0, %%envreg1;" : "=r"(high));
    out[threadIdx.x] = low | high;
}
