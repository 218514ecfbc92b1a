// What CUDA C without #include gets from nvcc or NVRTC, for clang (22, of NVPTX or of nothing but
// its front end): `-include prelude.h -nocudainc -nocudalib -fdeclspec -std=c++17`. Functions give
// what NVRTC's give, but for the last bit of logarithms, `exp` of double, `tanhf` and `powf`. What
// is not here is not declared, or says why.
#pragma once
#pragma clang diagnostic ignored "-Wc++11-narrowing" // a warning of NVRTC's, too
#pragma clang diagnostic ignored "-Wunknown-cuda-version"
#pragma clang diagnostic ignored "-Wmacro-redefined" // of a kernel's own INFINITY

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ // all functions are inlined, in the PTX or by the emulated GPU
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __grid_constant__
#define __restrict__ __restrict
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define NULL 0

// In the words of `cargo workbook check` (left-out.h), which defines them as well.
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define CHAR_BIT 8
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295u
#define LLONG_MIN (-9223372036854775807ll - 1)
#define LLONG_MAX 9223372036854775807ll
#define ULLONG_MAX 18446744073709551615ull
#define FLT_EPSILON 0x1p-23f
#define FLT_MIN 0x1p-126f
#define FLT_MAX 0x1.fffffep127f
#define DBL_EPSILON 0x1p-52
#define DBL_MIN 0x1p-1022
#define DBL_MAX 0x1.fffffffffffffp1023
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define M_PI 3.14159265358979323846

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef __INTPTR_TYPE__ intptr_t;

// A function of this file: its instructions belong to the line that calls it.
#define FN __device__ static inline __attribute__((always_inline, nodebug))
// One that an array's size or a host's constant may be computed with, too.
#define BOTH __device__ __host__ inline __attribute__((always_inline, nodebug))
#define FLOAT_OF_DOUBLE(name) FN float name(float a) { return name##f(a); }

// Vectors. Those that have one access in the hardware are copied as clang's own vectors: of a
// plain structure clang copies eight bytes at a time.
#define WHOLE_VECTOR(T, N, count, bytes, ...) \
    struct __attribute__((trivial_abi, aligned(bytes))) N { \
        typedef T whole __attribute__((ext_vector_type(count), aligned(bytes))); \
        T __VA_ARGS__; \
        N() = default; \
        BOTH constexpr N(T a, T b = 0, T c = 0, T d = 0); \
        BOTH N(const N &o) { *(whole *)this = *(const whole *)&o; } \
        BOTH N(const volatile N &o) { *(whole *)this = *(const volatile whole *)&o; } \
        BOTH N &operator=(const N &o) { *(whole *)this = *(const whole *)&o; return *this; } \
        BOTH void operator=(const N &o) volatile { \
            *(volatile whole *)this = *(const whole *)&o; \
        } \
    };
#define VECTORS(T, N) \
    struct N##1 { T x; }; \
    WHOLE_VECTOR(T, N##2, 2, 2 * sizeof(T), x, y) \
    struct N##3 { T x, y, z; }; \
    WHOLE_VECTOR(T, N##4, 4, (sizeof(T) == 8 ? 16 : 4 * sizeof(T)), x, y, z, w) \
    BOTH constexpr N##2::N##2(T a, T b, T, T) : x(a), y(b) {} \
    BOTH constexpr N##4::N##4(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {} \
    FN N##1 make_##N##1(T x) { return {x}; } \
    FN N##2 make_##N##2(T x, T y) { return N##2(x, y); } \
    FN N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; } \
    FN N##4 make_##N##4(T x, T y, T z, T w) { return N##4(x, y, z, w); }
#define UNSIGNED_VECTORS(T) VECTORS(T, T) VECTORS(unsigned T, u##T)
VECTORS(signed char, char)
VECTORS(unsigned char, uchar)
UNSIGNED_VECTORS(short)
UNSIGNED_VECTORS(int)
UNSIGNED_VECTORS(long)
VECTORS(long long, longlong)
VECTORS(unsigned long long, ulonglong)
VECTORS(float, float)
VECTORS(double, double)
#undef UNSIGNED_VECTORS
#undef VECTORS
#undef WHOLE_VECTOR

struct dim3 {
    unsigned x, y, z;
    BOTH constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
    BOTH constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    BOTH constexpr operator uint3() const { return {x, y, z}; }
};

// A thread's place.
#define PLACE(name, reg, T) \
    struct name##_t { \
        __declspec(property(get = get_x)) unsigned x; \
        __declspec(property(get = get_y)) unsigned y; \
        __declspec(property(get = get_z)) unsigned z; \
        FN unsigned get_x() { return __nvvm_read_ptx_sreg_##reg##_x(); } \
        FN unsigned get_y() { return __nvvm_read_ptx_sreg_##reg##_y(); } \
        FN unsigned get_z() { return __nvvm_read_ptx_sreg_##reg##_z(); } \
        __device__ __attribute__((nodebug)) operator T() const { \
            return T{get_x(), get_y(), get_z()}; \
        } \
    }; \
    extern const __device__ name##_t name;
PLACE(threadIdx, tid, uint3)
PLACE(blockIdx, ctaid, uint3)
PLACE(blockDim, ntid, dim3)
PLACE(gridDim, nctaid, dim3)
#undef PLACE
static constexpr int warpSize = 32;

extern "C" __device__ int printf(const char *, ...);
extern "C" __device__ int vprintf(const char *, const char *);
extern "C" __device__ void __assertfail(const char *message, const char *file, unsigned line,
                                        const char *function, size_t charsize)
    __attribute__((noreturn));
#define assert(e) \
    ((e) ? (void)0 : __assertfail(#e, __FILE__, __LINE__, __PRETTY_FUNCTION__, 1))
FN void *memcpy(void *to, const void *from, size_t n) { return __builtin_memcpy(to, from, n); }
FN void *memset(void *to, int byte, size_t n) { return __builtin_memset(to, byte, n); }

// Bits.
template <class T, class U> FN T bits_as(U u) {
    static_assert(sizeof(T) == sizeof(U));
    T t;
    __builtin_memcpy((void *)&t, (const void *)&u, sizeof t);
    return t;
}
#define REINTERPRET(name, T, U) FN T name(U u) { return bits_as<T>(u); }
REINTERPRET(__float_as_int, int, float)
REINTERPRET(__float_as_uint, unsigned, float)
REINTERPRET(__int_as_float, float, int)
REINTERPRET(__uint_as_float, float, unsigned)
REINTERPRET(__double_as_longlong, long long, double)
REINTERPRET(__longlong_as_double, double, long long)
#undef REINTERPRET
FN int __double2hiint(double d) { return (int)(__double_as_longlong(d) >> 32); }
FN int __double2loint(double d) { return (int)__double_as_longlong(d); }
FN double __hiloint2double(int high, int low) {
    return bits_as<double>((unsigned long long)(unsigned)high << 32 | (unsigned)low);
}
FN int __popc(unsigned a) { return __builtin_popcount(a); }
FN int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
FN int __clz(int a) { return a ? __builtin_clz(a) : 32; }
FN int __clzll(long long a) { return a ? __builtin_clzll(a) : 64; }
FN int __ffs(int a) { return __builtin_ffs(a); }
FN int __ffsll(long long a) { return __builtin_ffsll(a); }
FN unsigned __brev(unsigned a) { return __builtin_bitreverse32(a); }
FN unsigned long long __brevll(unsigned long long a) { return __builtin_bitreverse64(a); }

// An instruction with two or three operands in registers of 32 bits.
#define TWO(T, name, A, B, ptx) \
    FN T name(A a, B b) { T r; asm(ptx " %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
#define THREE(T, name, A, B, C, ptx) \
    FN T name(A a, B b, C c) { \
        T r; \
        asm(ptx " %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); \
        return r; \
    }
THREE(unsigned, __byte_perm, unsigned, unsigned, unsigned, "prmt.b32")
THREE(unsigned, __funnelshift_l, unsigned, unsigned, unsigned, "shf.l.wrap.b32")
THREE(unsigned, __funnelshift_r, unsigned, unsigned, unsigned, "shf.r.wrap.b32")
THREE(unsigned, __funnelshift_lc, unsigned, unsigned, unsigned, "shf.l.clamp.b32")
THREE(unsigned, __funnelshift_rc, unsigned, unsigned, unsigned, "shf.r.clamp.b32")
TWO(int, __mulhi, int, int, "mul.hi.s32")
TWO(unsigned, __umulhi, unsigned, unsigned, "mul.hi.u32")
TWO(int, __mul24, int, int, "mul24.lo.s32")
TWO(unsigned, __umul24, unsigned, unsigned, "mul24.lo.u32")
THREE(unsigned, __sad, int, int, unsigned, "sad.s32")
THREE(unsigned, __usad, unsigned, unsigned, unsigned, "sad.u32")
#define DOT(name, ptx, Narrow, Bytes) \
    THREE(int, name, int, int, int, ptx ".s32.s32") \
    THREE(unsigned, name, unsigned, unsigned, unsigned, ptx ".u32.u32") \
    FN int name(Narrow a, char4 b, int c) { return name(bits_as<int>(a), bits_as<int>(b), c); } \
    FN unsigned name(u##Narrow a, uchar4 b, unsigned c) { \
        return name(bits_as<unsigned>(a), bits_as<unsigned>(b), c); \
    }
DOT(__dp4a, "dp4a", char4, char4)
DOT(__dp2a_lo, "dp2a.lo", short2, char4)
DOT(__dp2a_hi, "dp2a.hi", short2, char4)
#undef DOT
#undef THREE
#undef TWO
FN long long __mul64hi(long long a, long long b) {
    long long r;
    asm("mul.hi.s64 %0, %1, %2;" : "=l"(r) : "l"(a), "l"(b));
    return r;
}
FN unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    unsigned long long r;
    asm("mul.hi.u64 %0, %1, %2;" : "=l"(r) : "l"(a), "l"(b));
    return r;
}
FN int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
FN int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
FN unsigned __uhadd(unsigned a, unsigned b) {
    return (unsigned)(((unsigned long long)a + b) >> 1);
}
FN unsigned __urhadd(unsigned a, unsigned b) {
    return (unsigned)(((unsigned long long)a + b + 1) >> 1);
}

// Numbers. CUDA has min and max for each pair of types.
#define LEAST(T, A, B) \
    FN T min(A a, B b) { return (T)a < (T)b ? (T)a : (T)b; } \
    FN T max(A a, B b) { return (T)a > (T)b ? (T)a : (T)b; }
#define LEASTS(T) \
    LEAST(T, T, T) \
    LEAST(unsigned T, unsigned T, unsigned T) \
    LEAST(unsigned T, T, unsigned T) \
    LEAST(unsigned T, unsigned T, T)
LEASTS(int)
LEASTS(long)
LEASTS(long long)
#undef LEASTS
#undef LEAST
FN float fminf(float a, float b) { return __nvvm_fmin_f(a, b); }
FN float fmaxf(float a, float b) { return __nvvm_fmax_f(a, b); }
#define EXTREME(name, of) \
    FN double f##name(double a, double b) { return __nvvm_f##name##_d(a, b); } \
    FN float f##name(float a, float b) { return f##name##f(a, b); } \
    FN float name(float a, float b) { return f##name##f(a, b); } \
    FN double name(double a, double b) { return f##name(a, b); } \
    FN double name(float a, double b) { return f##name((double)a, b); } \
    FN double name(double a, float b) { return f##name(a, (double)b); }
EXTREME(min, )
EXTREME(max, )
#undef EXTREME
FN int abs(int a) { return a < 0 ? -a : a; }
FN long abs(long a) { return a < 0 ? -a : a; }
FN long long abs(long long a) { return a < 0 ? -a : a; }
FN long labs(long a) { return abs(a); }
FN long long llabs(long long a) { return abs(a); }
FN float fabsf(float a) { return __builtin_fabsf(a); }
FN double fabs(double a) { return __builtin_fabs(a); }
FLOAT_OF_DOUBLE(fabs)
FN float abs(float a) { return fabsf(a); }
FN double abs(double a) { return fabs(a); }
#define ROUNDED(name) \
    FN float name##f(float a) { return __builtin_##name##f(a); } \
    FN double name(double a) { return __builtin_##name(a); } \
    FLOAT_OF_DOUBLE(name)
ROUNDED(floor)
ROUNDED(ceil)
ROUNDED(trunc)
ROUNDED(rint)
ROUNDED(nearbyint)
#undef ROUNDED
FN float copysignf(float a, float b) { return __builtin_copysignf(a, b); }
FN double copysign(double a, double b) { return __builtin_copysign(a, b); }
FN float roundf(float a) { return truncf(__nvvm_add_rz_f(a, copysignf(0.5f, a))); }
FN double round(double a) {
    double whole = trunc(a);
    return fabs(a - whole) >= 0.5 ? whole + copysign(1.0, a) : whole;
}
FLOAT_OF_DOUBLE(round)
FN int lrintf(float a) { return (int)rintf(a); }
FN bool isnan(float a) { return a != a; }
FN bool isnan(double a) { return a != a; }
FN bool isinf(float a) { return fabsf(a) == __builtin_inff(); }
FN bool isinf(double a) { return fabs(a) == __builtin_inf(); }
FN bool isfinite(float a) { return fabsf(a) < __builtin_inff(); }
FN bool isfinite(double a) { return fabs(a) < __builtin_inf(); }
FN bool signbit(float a) { return __float_as_int(a) < 0; }
FN bool signbit(double a) { return __double_as_longlong(a) < 0; }
FN float fmaf(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
FN double fma(double a, double b, double c) { return __nvvm_fma_rn_d(a, b, c); }
FN float fma(float a, float b, float c) { return fmaf(a, b, c); }
FN float sqrtf(float a) { return __nvvm_sqrt_rn_f(a); }
FN double sqrt(double a) { return __nvvm_sqrt_rn_d(a); }
FLOAT_OF_DOUBLE(sqrt)
FN float rsqrtf(float a) { return __nvvm_rsqrt_approx_f(a); }
FN float rsqrt(float a) { return rsqrtf(a); }

// With a rounding of their own: to nearest, to zero, up, down.
#define ROUNDINGS(name, nvvm) \
    FN float __f##name##_rn(float a, float b) { return __nvvm_##nvvm##_rn_f(a, b); } \
    FN float __f##name##_rz(float a, float b) { return __nvvm_##nvvm##_rz_f(a, b); } \
    FN float __f##name##_ru(float a, float b) { return __nvvm_##nvvm##_rp_f(a, b); } \
    FN float __f##name##_rd(float a, float b) { return __nvvm_##nvvm##_rm_f(a, b); } \
    FN double __d##name##_rn(double a, double b) { return __nvvm_##nvvm##_rn_d(a, b); }
ROUNDINGS(add, add)
ROUNDINGS(mul, mul)
ROUNDINGS(div, div)
#undef ROUNDINGS
FN float __fsub_rn(float a, float b) { return __nvvm_add_rn_f(a, -b); }
FN float __fmaf_rn(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
FN float __fsqrt_rn(float a) { return __nvvm_sqrt_rn_f(a); }
FN float __frcp_rn(float a) { return __nvvm_rcp_rn_f(a); }
FN float __fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }
FN float __saturatef(float a) { return __nvvm_saturate_f(a); }
FN int __float2int_rn(float a) { return __nvvm_f2i_rn(a); }
FN int __float2int_rz(float a) { return __nvvm_f2i_rz(a); }
FN int __float2int_rd(float a) { return __nvvm_f2i_rm(a); }
FN int __float2int_ru(float a) { return __nvvm_f2i_rp(a); }
FN unsigned __float2uint_rn(float a) { return __nvvm_f2ui_rn(a); }
FN unsigned __float2uint_rz(float a) { return __nvvm_f2ui_rz(a); }
FN float __int2float_rn(int a) { return __nvvm_i2f_rn(a); }
FN float __uint2float_rn(unsigned a) { return __nvvm_ui2f_rn(a); }
FN float __double2float_rn(double a) { return __nvvm_d2f_rn(a); }

FN float exp2f(float a) { return __nvvm_ex2_approx_f(a); }
FN float __expf(float a) { return exp2f(a * 1.4426950408889634f); }
FN float __exp10f(float a) { return exp2f(a * 3.3219280948873623f); }
FN float __log2f(float a) { return __nvvm_lg2_approx_f(a); }
FN float __logf(float a) { return __log2f(a) * 0.6931471805599453f; }
FN float __log10f(float a) { return __log2f(a) * 0.30102999566398120f; }
FN float __sinf(float a) { return __nvvm_sin_approx_f(a); }
FN float __cosf(float a) { return __nvvm_cos_approx_f(a); }
FN float __tanf(float a) { return __fdividef(__sinf(a), __cosf(a)); }
FN float __powf(float a, float b) { return exp2f(b * __log2f(a)); }
// e to the a is 2 to the whole, which is shifted into the exponent, times 2 to the rest.
FN float expf(float a) {
    float part = __nvvm_saturate_f(fmaf(a, 1.4426950408889634f / 252, 0.5f));
    float shifted = __nvvm_fma_rm_f(part, 252.0f, 12582913.0f);
    float whole = shifted - 12583039.0f;
    float rest = fmaf(a, 1.925963033500011e-8f, fmaf(a, 1.4426950408889634f, -whole));
    return __nvvm_ex2_approx_ftz_f(rest) * __uint_as_float(__float_as_uint(shifted) << 23);
}
FN float exp(float a) { return expf(a); }
// In double precision by series: Taylor's for what is left of a whole power of two; and that of
// the logarithm of (1 + s) / (1 - s), for numbers next to one.
FN double exp(double a) {
    double bounded = fmin(fmax(a, -750.0), 720.0), whole = rint(bounded * 1.4426950408889634);
    double rest = fma(whole, -0x1.62e42fefa3800p-1, bounded), sum = 1.0;
    rest = fma(whole, -0x1.ef35793c76730p-45, rest);
    for (int n = 13; n > 0; n--)
        sum = fma(sum, rest / n, 1.0);
    int power = (int)whole, half = power / 2;
    double scale = bits_as<double>((long long)(half + 1023) << 52);
    return a != a ? a : sum * scale * bits_as<double>((long long)(power - half + 1023) << 52);
}
FN double log(double a) {
    bool tiny = a < 0x1p-1022;
    long long bits = bits_as<long long>(tiny ? a * 0x1p54 : a);
    long long power = (bits - 0x3fe6a09e667f3bcd) >> 52;
    double near_one = bits_as<double>(bits - (power << 52));
    double s = (near_one - 1.0) / (near_one + 1.0), square = s * s, sum = 0.0;
    for (int n = 23; n > 0; n -= 2)
        sum = fma(sum, square, 2.0 / n);
    double whole = (double)(power - (tiny ? 54 : 0));
    double result = fma(whole, 0.6931471805599453, sum * s);
    if (!(a < __builtin_inf())) return a;
    return a > 0.0 ? result : a == 0.0 ? -__builtin_inf() : __builtin_nan("");
}
FN float logf(float a) { return (float)log((double)a); }
FN float log2f(float a) { return (float)(log((double)a) * 1.4426950408889634); }
FN float log10f(float a) { return (float)(log((double)a) * 0.4342944819032518); }
FN float log(float a) { return logf(a); }
FN float tanhf(float a) { return (float)(1.0 - 2.0 / (exp(2.0 * (double)a) + 1.0)); }
FN float powf(float a, float b) {
    float size = fabsf(a) == 1.0f ? 1.0f : (float)exp((double)b * log(fabs((double)a)));
    bool is_whole = b == truncf(b), is_odd = is_whole && truncf(b * 0.5f) * 2.0f != b;
    // Of a number below zero and above minus infinity, as bits.
    bool is_none = __float_as_uint(a) - 0x80000001u < 0x7f7fffffu && !is_whole;
    float power = is_odd ? copysignf(size, a) : is_none ? __builtin_nanf("") : size;
    return a == 1.0f || b == 0.0f ? 1.0f : power;
}
FN float pow(float a, float b) { return powf(a, b); }
FN float pow(float a, int b) { return powf(a, (float)b); }
// NVIDIA's library computes these in dozens of instructions, which are not here.
#define MISSING(name, instead) \
    __device__ float name(...) __attribute__((unavailable( \
        #name " is not in the prelude that clang compiles kernels with; " instead)));
#define LESS_EXACT(name) MISSING(name##f, "__" #name "f is, and is less exact")
LESS_EXACT(sin)
LESS_EXACT(cos)
LESS_EXACT(tan)
#define ONLY_NVRTC "compile this kernel with NVRTC"
template <class A, class B>
__device__ double pow(A, B) __attribute__((unavailable(
    "pow of double is not in the prelude that clang compiles kernels with; powf is")));
MISSING(erff, ONLY_NVRTC)
MISSING(fmodf, ONLY_NVRTC)
MISSING(cbrtf, ONLY_NVRTC)
MISSING(hypotf, ONLY_NVRTC)
MISSING(atan2f, ONLY_NVRTC)
MISSING(malloc, "a kernel gets its memory from the host")
MISSING(free, "a kernel gets its memory from the host")
#define NO_NEW __attribute__((unavailable("a kernel gets its memory from the host")))
__device__ void *operator new(size_t) NO_NEW;
__device__ void *operator new[](size_t) NO_NEW;
#undef NO_NEW
#undef ONLY_NVRTC
#undef LESS_EXACT
#undef MISSING

// Memory.
FN void __threadfence() { __nvvm_membar_gl(); }
FN void __threadfence_block() { __nvvm_membar_cta(); }
FN void __threadfence_system() { __nvvm_membar_sys(); }
FN size_t __cvta_generic_to_shared(const void *p) {
    return (unsigned)(size_t)(const __attribute__((address_space(3))) void *)p;
}
FN size_t __cvta_generic_to_global(const void *p) {
    return (size_t)(const __attribute__((address_space(1))) void *)p;
}
FN void *__cvta_shared_to_generic(size_t p) {
    return (void *)(__attribute__((address_space(3))) void *)(size_t)(unsigned)p;
}
FN bool __isShared(const void *p) { return __nvvm_isspacep_shared(p); }
FN bool __isGlobal(const void *p) { return __nvvm_isspacep_global(p); }

// An access with a hint of which cache is to keep it: one of 1, 2, 4, 8 or 16 bytes, and a vector
// as a vector.
#define HINTED_LOAD(name, hint) \
    template <class T> FN T name(const T *p) { \
        if constexpr (sizeof(T) == 16) { \
            unsigned x, y, z, w; \
            asm volatile("ld.global" hint ".v4.u32 {%0, %1, %2, %3}, [%4];" \
                         : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(p)); \
            return bits_as<T>(uint4(x, y, z, w)); \
        } else if constexpr (sizeof(T) == 8 && __is_class(T)) { \
            unsigned x, y; \
            asm volatile("ld.global" hint ".v2.u32 {%0, %1}, [%2];" \
                         : "=r"(x), "=r"(y) : "l"(p)); \
            return bits_as<T>(uint2(x, y)); \
        } else if constexpr (sizeof(T) == 8) { \
            unsigned long long r; \
            asm volatile("ld.global" hint ".u64 %0, [%1];" : "=l"(r) : "l"(p)); \
            return bits_as<T>(r); \
        } else if constexpr (sizeof(T) == 4) { \
            unsigned r; \
            asm volatile("ld.global" hint ".u32 %0, [%1];" : "=r"(r) : "l"(p)); \
            return bits_as<T>(r); \
        } else if constexpr (sizeof(T) == 2) { \
            unsigned short r; \
            asm volatile("ld.global" hint ".u16 %0, [%1];" : "=h"(r) : "l"(p)); \
            return bits_as<T>(r); \
        } else { \
            unsigned r; \
            asm volatile("ld.global" hint ".u8 %0, [%1];" : "=r"(r) : "l"(p)); \
            return bits_as<T>((unsigned char)r); \
        } \
    }
HINTED_LOAD(__ldg, ".nc")
HINTED_LOAD(__ldcg, ".cg")
HINTED_LOAD(__ldca, ".ca")
HINTED_LOAD(__ldcs, ".cs")
HINTED_LOAD(__ldlu, ".lu")
HINTED_LOAD(__ldcv, ".cv")
#undef HINTED_LOAD
#define HINTED_STORE(name, hint) \
    template <class T> FN void name(T *p, T v) { \
        if constexpr (sizeof(T) == 16) { \
            uint4 u = bits_as<uint4>(v); \
            asm volatile("st.global" hint ".v4.u32 [%0], {%1, %2, %3, %4};" \
                         :: "l"(p), "r"(u.x), "r"(u.y), "r"(u.z), "r"(u.w) : "memory"); \
        } else if constexpr (sizeof(T) == 8 && __is_class(T)) { \
            uint2 u = bits_as<uint2>(v); \
            asm volatile("st.global" hint ".v2.u32 [%0], {%1, %2};" \
                         :: "l"(p), "r"(u.x), "r"(u.y) : "memory"); \
        } else if constexpr (sizeof(T) == 8) { \
            asm volatile("st.global" hint ".u64 [%0], %1;" \
                         :: "l"(p), "l"(bits_as<unsigned long long>(v)) : "memory"); \
        } else if constexpr (sizeof(T) == 4) { \
            asm volatile("st.global" hint ".u32 [%0], %1;" \
                         :: "l"(p), "r"(bits_as<unsigned>(v)) : "memory"); \
        } else if constexpr (sizeof(T) == 2) { \
            asm volatile("st.global" hint ".u16 [%0], %1;" \
                         :: "l"(p), "h"(bits_as<unsigned short>(v)) : "memory"); \
        } else { \
            asm volatile("st.global" hint ".u8 [%0], %1;" \
                         :: "l"(p), "r"((unsigned)bits_as<unsigned char>(v)) : "memory"); \
        } \
    }
HINTED_STORE(__stcg, ".cg")
HINTED_STORE(__stcs, ".cs")
HINTED_STORE(__stwb, ".wb")
HINTED_STORE(__stwt, ".wt")
#undef HINTED_STORE

// Warps and blocks.
FN void __syncwarp(unsigned mask = ~0u) { __nvvm_bar_warp_sync(mask); }
FN unsigned __activemask() {
    unsigned r;
    asm volatile("activemask.b32 %0;" : "=r"(r));
    return r;
}
FN unsigned __ballot_sync(unsigned mask, int p) { return __nvvm_vote_ballot_sync(mask, p); }
FN int __all_sync(unsigned mask, int p) { return __nvvm_vote_all_sync(mask, p); }
FN int __any_sync(unsigned mask, int p) { return __nvvm_vote_any_sync(mask, p); }
#define SHUFFLE(name, nvvm, last, By) \
    template <class T> FN T name(unsigned mask, T value, By by, int width = 32) { \
        int within = (32 - width) << 8 | last; \
        if constexpr (sizeof(T) == 8) { \
            uint2 u = bits_as<uint2>(value); \
            u.x = nvvm(mask, (int)u.x, by, within); \
            u.y = nvvm(mask, (int)u.y, by, within); \
            return bits_as<T>(u); \
        } else if constexpr (sizeof(T) == 4) { \
            return bits_as<T>(nvvm(mask, bits_as<int>(value), by, within)); \
        } else { \
            return (T)nvvm(mask, (int)value, by, within); \
        } \
    }
SHUFFLE(__shfl_down_sync, __nvvm_shfl_sync_down_i32, 31, unsigned)
SHUFFLE(__shfl_up_sync, __nvvm_shfl_sync_up_i32, 0, unsigned)
SHUFFLE(__shfl_xor_sync, __nvvm_shfl_sync_bfly_i32, 31, int)
SHUFFLE(__shfl_sync, __nvvm_shfl_sync_idx_i32, 31, int)
#undef SHUFFLE
#if __CUDA_ARCH__ >= 700
template <class T> FN unsigned __match_any_sync(unsigned mask, T value) {
    unsigned r;
    if constexpr (sizeof(T) == 8)
        asm volatile("match.any.sync.b64 %0, %1, %2;"
                     : "=r"(r) : "l"(bits_as<unsigned long long>(value)), "r"(mask));
    else
        asm volatile("match.any.sync.b32 %0, %1, %2;"
                     : "=r"(r) : "r"(bits_as<unsigned>(value)), "r"(mask));
    return r;
}
#endif
#if __CUDA_ARCH__ >= 800
#define REDUCE(name, T, ptx) \
    FN T __reduce_##name##_sync(unsigned mask, T value) { \
        T r; \
        asm volatile("redux.sync." ptx " %0, %1, %2;" : "=r"(r) : "r"(value), "r"(mask)); \
        return r; \
    }
REDUCE(add, unsigned, "add.u32")
REDUCE(add, int, "add.s32")
REDUCE(min, unsigned, "min.u32")
REDUCE(min, int, "min.s32")
REDUCE(max, unsigned, "max.u32")
REDUCE(max, int, "max.s32")
REDUCE(and, unsigned, "and.b32")
REDUCE(or, unsigned, "or.b32")
REDUCE(xor, unsigned, "xor.b32")
#undef REDUCE
#endif
FN int __syncthreads_count(int p) {
    int r;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; bar.red.popc.u32 %0, 0, p; }"
                 : "=r"(r) : "r"(p) : "memory");
    return r;
}
#define OF_BLOCK(name) \
    FN int __syncthreads_##name(int p) { \
        int r; \
        asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; bar.red." #name \
                     ".pred q, 0, p; selp.s32 %0, 1, 0, q; }" \
                     : "=r"(r) : "r"(p) : "memory"); \
        return r; \
    }
OF_BLOCK(and)
OF_BLOCK(or)
#undef OF_BLOCK
FN void __trap() { asm volatile("trap;"); }
FN void __nanosleep(unsigned ns) { asm volatile("nanosleep.u32 %0;" :: "r"(ns)); }
FN long long clock64() { return __nvvm_read_ptx_sreg_clock64(); }
FN int clock() { return __nvvm_read_ptx_sreg_clock(); }

// Atomics, of the GPU, of the block (`_block`) and with host and other GPUs (`_system`). Clang
// knows their addresses' space, but for NVPTX no scope: those with another one are written as PTX.
#define SCOPED(name, T, type, c, op, scope) \
    FN T name(T *p, T v) { \
        T r; \
        asm volatile("atom." scope "." op "." type " %0, [%1], %2;" \
                     : "=" c(r) : "l"(p), c(v) : "memory"); \
        return r; \
    }
#define ATOMIC(name, f, T, type, c, op) \
    FN T name(T *p, T v) { \
        return __scoped_atomic_##f(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE); \
    } \
    SCOPED(name##_block, T, type, c, op, "cta") \
    SCOPED(name##_system, T, type, c, op, "sys")
#define ATOMICS(name, f, op, sign) \
    ATOMIC(name, f, int, sign "32", "r", op) \
    ATOMIC(name, f, unsigned, "u32", "r", op) \
    ATOMIC(name, f, long long, sign "64", "l", op) \
    ATOMIC(name, f, unsigned long long, "u64", "l", op)
#define ATOMICS_OF_BITS(name, f, op) \
    ATOMIC(name, f, int, "b32", "r", op) \
    ATOMIC(name, f, unsigned, "b32", "r", op) \
    ATOMIC(name, f, long long, "b64", "l", op) \
    ATOMIC(name, f, unsigned long long, "b64", "l", op)
ATOMICS(atomicAdd, fetch_add, "add", "u")
ATOMIC(atomicAdd, fetch_add, float, "f32", "f", "add")
ATOMIC(atomicAdd, fetch_add, double, "f64", "d", "add")
ATOMICS(atomicMin, fetch_min, "min", "s")
ATOMICS(atomicMax, fetch_max, "max", "s")
ATOMICS_OF_BITS(atomicAnd, fetch_and, "and")
ATOMICS_OF_BITS(atomicOr, fetch_or, "or")
ATOMICS_OF_BITS(atomicXor, fetch_xor, "xor")
ATOMICS_OF_BITS(atomicExch, exchange_n, "exch")
#undef ATOMICS_OF_BITS
#undef ATOMICS
#undef ATOMIC
FN float atomicExch(float *p, float v) {
    return __uint_as_float(atomicExch((unsigned *)p, __float_as_uint(v)));
}
FN int atomicSub(int *p, int v) { return atomicAdd(p, -v); }
FN unsigned atomicSub(unsigned *p, unsigned v) { return atomicAdd(p, 0u - v); }
#define WRAPPED(name, op) \
    SCOPED(name, unsigned, "u32", "r", op, "gpu") \
    SCOPED(name##_block, unsigned, "u32", "r", op, "cta") \
    SCOPED(name##_system, unsigned, "u32", "r", op, "sys")
WRAPPED(atomicInc, "inc")
WRAPPED(atomicDec, "dec")
#undef WRAPPED
#undef SCOPED
#define EXCHANGE(T, bits, c) \
    FN T atomicCAS(T *p, T expected, T v) { \
        __scoped_atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED, \
                                           __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE); \
        return expected; \
    } \
    EXCHANGE_IN(T, bits, c, atomicCAS_block, "cta") \
    EXCHANGE_IN(T, bits, c, atomicCAS_system, "sys")
#define EXCHANGE_IN(T, bits, c, name, scope) \
    FN T name(T *p, T expected, T v) { \
        T r; \
        asm volatile("atom." scope ".cas." bits " %0, [%1], %2, %3;" \
                     : "=" c(r) : "l"(p), c(expected), c(v) : "memory"); \
        return r; \
    }
EXCHANGE(int, "b32", "r")
EXCHANGE(unsigned, "b32", "r")
EXCHANGE(unsigned long long, "b64", "l")
EXCHANGE_IN(unsigned short, "b16", "h", atomicCAS, "gpu")
#undef EXCHANGE
#undef EXCHANGE_IN
#undef FLOAT_OF_DOUBLE
#undef BOTH
#undef FN
