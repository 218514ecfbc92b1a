// How many warps does a kernel need? Three kernels: one that waits for the memory, one that waits
// for its own results, and one that keeps many numbers in registers. None uses shared memory, but a
// launch may ask for some: that is how the host decides how many blocks a multiprocessor holds.

typedef unsigned int u32;

__device__ u32 total(u32 v) { return v; }
__device__ u32 total(uint4 v) { return v.x + v.y + v.z + v.w; }

// ANCHOR: read
// Adds up words. A thread asks for LOADS elements, and then waits for all of them.
template <class Element, int LOADS>
__device__ void read(const Element *in, u32 *sums, size_t count)
{
    u32 me = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    size_t threads = gridDim.x * blockDim.x;
#pragma unroll 1
    for (size_t i = me; i < count; i += LOADS * threads) {
        Element v[LOADS] = {};
#pragma unroll
        for (int k = 0; k < LOADS; k++)
            if (i + k * threads < count)
                v[k] = in[i + k * threads];
#pragma unroll
        for (int k = 0; k < LOADS; k++)
            sum += total(v[k]);
    }
    sums[me] = sum;
}
// ANCHOR_END: read

extern "C" __global__ void read_1x4(const u32 *in, u32 *sums, size_t count)
{ read<u32, 1>(in, sums, count); }
extern "C" __global__ void read_4x4(const u32 *in, u32 *sums, size_t count)
{ read<u32, 4>(in, sums, count); }
extern "C" __global__ void read_1x16(const uint4 *in, u32 *sums, size_t count)
{ read<uint4, 1>(in, sums, count); }
extern "C" __global__ void read_4x16(const uint4 *in, u32 *sums, size_t count)
{ read<uint4, 4>(in, sums, count); }

// ANCHOR: multiply
// Multiply-adds in registers. A step needs the result of the one before; CHAINS of such rows of
// steps do not need each other. `turns` times 128 steps, of all chains together. A block tells
// on which multiprocessor, and from when to when on its clock.
struct Span { long long multiprocessor, begin, end; };

template <int CHAINS>
__device__ void multiply(u32 *out, Span *spans, u32 turns)
{
    float x[CHAINS];
#pragma unroll
    for (int chain = 0; chain < CHAINS; chain++)
        x[chain] = threadIdx.x % 32 + chain;

    __syncthreads();
    long long begin = clock64();
    for (u32 turn = 0; turn < turns; turn++)
#pragma unroll
        for (int step = 0; step < 128 / CHAINS; step++)
#pragma unroll
            for (int chain = 0; chain < CHAINS; chain++)
                x[chain] = fmaf(x[chain], 1.0001f, 1.0f);
    __syncthreads();
    if (threadIdx.x == 0) {
        u32 multiprocessor;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
        spans[blockIdx.x] = {multiprocessor, begin, clock64()};
    }

    u32 word = 0;
#pragma unroll
    for (int chain = 0; chain < CHAINS; chain++)
        word = 31 * word + __float_as_uint(x[chain]);
    out[blockIdx.x * blockDim.x + threadIdx.x] = word;
}
// ANCHOR_END: multiply

extern "C" __global__ void multiply_1(u32 *out, Span *spans, u32 turns)
{ multiply<1>(out, spans, turns); }
extern "C" __global__ void multiply_4(u32 *out, Span *spans, u32 turns)
{ multiply<4>(out, spans, turns); }

// ANCHOR: hashes
// Hashes each word 64 times, one hash from the other, and adds up the first hashes, the second
// hashes and so on: 64 sums, which stay in registers as long as there are enough.
__device__ void hashes(const u32 *in, u32 *out, size_t count)
{
    u32 me = blockIdx.x * blockDim.x + threadIdx.x, sums[64] = {};
    size_t threads = gridDim.x * blockDim.x;
#pragma unroll 1
    for (size_t i = me; i < count; i += threads) {
        u32 word = in[i], hash = 2166136261u;
#pragma unroll
        for (int j = 0; j < 64; j++) {
            hash = (hash ^ word) * 16777619u;
            sums[j] += hash;
        }
    }
    u32 all = 0;
#pragma unroll
    for (int j = 0; j < 64; j++)
        all = 31 * all + sums[j];
    out[me] = all;
}

// The same six times. The second number promises that a multiprocessor can hold so many blocks:
// the compiler may use no more registers than there are for that.
#define HASHES(BLOCKS)                                                                 \
    extern "C" __global__ void __launch_bounds__(256, BLOCKS) hashes_##BLOCKS(         \
        const u32 *in, u32 *out, size_t count)                                         \
    { hashes(in, out, count); }
HASHES(1)
HASHES(2)
HASHES(3)
HASHES(4)
HASHES(6)
HASHES(8)
// ANCHOR_END: hashes

// Word i holds i times an odd constant: all different, so a word from a wrong place shows.
extern "C" __global__ void fill(u32 *out, size_t count)
{
    size_t threads = gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads)
        out[i] = (u32)i * 2654435761u;
}
