// How many operations does a multiprocessor start in a cycle? One block on each, whose threads do
// nothing but one kind of arithmetic, in registers.
//
// A chain is a row of steps each of which needs the result of the one before. A thread has CHAINS
// of them, which do not need each other.

// Steps in a turn of the loop, of all chains together: so many that the loop itself costs little.
#define TURN 128

typedef unsigned int u32;

// `step` does one step of one chain, `bits` makes a word of where a chain has got to.
template <u32 CHAINS, typename State, typename Start, typename Step, typename Bits>
__device__ void issue(u32 *out, long long *cycles, u32 turns, Start start, Step step, Bits bits)
{
    State x[CHAINS];
#pragma unroll
    for (u32 chain = 0; chain < CHAINS; chain++)
        x[chain] = start(threadIdx.x % 32 + chain);

    __syncthreads();
    long long begin = clock64();
    // ANCHOR: chains
    for (u32 turn = 0; turn < turns; turn++)
#pragma unroll
        for (u32 i = 0; i < TURN / CHAINS; i++)
#pragma unroll
            for (u32 chain = 0; chain < CHAINS; chain++)
                x[chain] = step(x[chain]);
    // ANCHOR_END: chains
    __syncthreads();
    if (threadIdx.x == 0)
        cycles[blockIdx.x] = clock64() - begin;

    u32 word = 0;
#pragma unroll
    for (u32 chain = 0; chain < CHAINS; chain++)
        word = 31 * word + bits(x[chain]);
    out[(size_t)blockIdx.x * blockDim.x + threadIdx.x] = word;
}

#define ARGUMENTS u32 *out, long long *cycles, u32 turns, u32 factor, u32 addend

// Single precision: x = x * factor + addend.
#define FMA(CHAINS)                                                             \
    extern "C" __global__ void fma##CHAINS(ARGUMENTS)                           \
    {                                                                           \
        float a = factor, b = addend;                                           \
        issue<CHAINS, float>(out, cycles, turns,                                \
            [](u32 n) { return (float)n; },                                     \
            [=](float x) { return fmaf(x, a, b); },                             \
            [](float x) { return (u32)x; });                                    \
    }
FMA(1)
FMA(2)
FMA(4)
FMA(8)

// Double precision.
extern "C" __global__ void fma_f64(ARGUMENTS)
{
    double a = factor, b = addend;
    issue<4, double>(out, cycles, turns,
        [](u32 n) { return (double)n; },
        [=](double x) { return fma(x, a, b); },
        [](double x) { return (u32)x; });
}

// Half precision, two numbers in a register. They count to 2048, and no further: the next
// number that half precision has is 2050.
extern "C" __global__ void fma_f16x2(ARGUMENTS)
{
    // The bits of a whole number in half precision, in both halves.
    auto both = [](u32 n) {
        u32 pair;
        asm("{ .reg .f16 h; cvt.rn.f16.u32 h, %1; mov.b32 %0, {h, h}; }" : "=r"(pair) : "r"(n));
        return pair;
    };
    u32 a = both(factor), b = both(addend);
    issue<4, u32>(out, cycles, turns, both,
        [=](u32 x) {
            asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(a), "r"(b));
            return x;
        },
        [](u32 x) { return x; });
}

// Integers: a multiplication and an addition at once.
extern "C" __global__ void mad_u32(ARGUMENTS)
{
    issue<4, u32>(out, cycles, turns,
        [](u32 n) { return n; },
        [=](u32 x) { return x * factor + addend; },
        [](u32 x) { return x; });
}

struct Pair {
    u32 x, y;
};

// Integers: two additions, each of the other's result.
extern "C" __global__ void add_u32(ARGUMENTS)
{
    issue<4, Pair>(out, cycles, turns,
        [=](u32 n) { return Pair { n, addend }; },
        [](Pair p) {
            p.x += p.y;
            p.y += p.x;
            return p;
        },
        [](Pair p) { return p.x ^ p.y; });
}

// Integers: a rotation by `factor` bits.
extern "C" __global__ void rotate_u32(ARGUMENTS)
{
    issue<4, u32>(out, cycles, turns,
        [=](u32 n) { return n + addend; },
        [=](u32 x) { return __funnelshift_l(x, x, factor); },
        [](u32 x) { return x; });
}
