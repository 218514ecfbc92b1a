// Reading, writing, copying, and a triad, over arrays that are divided into tiles. A
// block moves one tile at a time: N elements for each of its threads, which are
// `blockDim.x` apart, so that neighbouring threads always have neighbouring elements.
//
// A launch may start a block for every tile, or fewer blocks, each of which takes every
// gridDim.x-th tile. A block goes through its tiles `passes` times, each time through
// those of the block `shift` further on.

typedef unsigned int u32;

__device__ u32 total(u32 v) { return v; }
__device__ u32 total(uint4 v) { return v.x + v.y + v.z + v.w; }

// Word i of an array holds i times a factor.
__device__ void make(u32 &v, u32 i, u32 factor) { v = i * factor; }
__device__ void make(uint4 &v, u32 i, u32 factor)
{
    v = make_uint4(4 * i * factor, (4 * i + 1) * factor, (4 * i + 2) * factor,
                   (4 * i + 3) * factor);
}

__device__ u32 a_plus_3b(u32 a, u32 b) { return a + 3 * b; }
__device__ uint4 a_plus_3b(uint4 a, uint4 b)
{
    return make_uint4(a.x + 3 * b.x, a.y + 3 * b.y, a.z + 3 * b.z, a.w + 3 * b.w);
}

// ANCHOR: tile
// The part of a tile that this thread moves. All loads are issued before the first
// is waited for: N elements are in flight at once.
template <class Element, int N>
__device__ void load(Element (&v)[N], const Element *in, size_t first, size_t count)
{
#pragma unroll
    for (int k = 0; k < N; k++)
        if (first + k * blockDim.x < count)
            v[k] = in[first + k * blockDim.x];
}

template <class Element, int N>
__device__ void store(Element (&v)[N], Element *out, size_t first, size_t count)
{
#pragma unroll
    for (int k = 0; k < N; k++)
        if (first + k * blockDim.x < count)
            out[first + k * blockDim.x] = v[k];
}
// ANCHOR_END: tile

// ANCHOR: walk
// Calls `move(first element)` for every tile of this block.
template <int N, class Move>
__device__ void walk(size_t count, u32 passes, u32 shift, Move move)
{
    size_t tile = (size_t)blockDim.x * N;
    u32 block = blockIdx.x;
    for (u32 pass = 0; pass < passes; pass++) {
        for (size_t i = block * tile + threadIdx.x; i < count; i += gridDim.x * tile)
            move(i);
        block += shift;
        if (block >= gridDim.x)
            block -= gridDim.x;
    }
}
// ANCHOR_END: walk

// ANCHOR: operations
template <class Element, int N>
__device__ void read(const Element *a, u32 *sums, size_t count, u32 passes,
                     u32 shift)
{
    u32 sum = 0;
    walk<N>(count, passes, shift, [&](size_t first) {
        Element v[N] = {};
        load(v, a, first, count);
        for (int k = 0; k < N; k++)
            sum += total(v[k]);
    });
    sums[(size_t)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

template <class Element, int N>
__device__ void write(Element *out, u32 factor, size_t count, u32 passes, u32 shift)
{
    walk<N>(count, passes, shift, [&](size_t first) {
        Element v[N];
        for (int k = 0; k < N; k++)
            make(v[k], first + k * blockDim.x, factor);
        store(v, out, first, count);
    });
}

template <class Element, int N>
__device__ void copy(const Element *a, Element *out, size_t count, u32 passes,
                     u32 shift)
{
    walk<N>(count, passes, shift, [&](size_t first) {
        Element v[N];
        load(v, a, first, count);
        store(v, out, first, count);
    });
}

template <class Element, int N>
__device__ void triad(const Element *a, const Element *b, Element *out, size_t count,
                      u32 passes, u32 shift)
{
    walk<N>(count, passes, shift, [&](size_t first) {
        Element v[N], w[N];
        load(v, a, first, count);
        load(w, b, first, count);
        for (int k = 0; k < N; k++)
            v[k] = a_plus_3b(v[k], w[k]);
        store(v, out, first, count);
    });
}
// ANCHOR_END: operations

// The four for elements of one size and N elements for each thread. All take the same
// arguments, so that the host can launch any of them in the same way.
#define KERNELS(SUFFIX, Element, N)                                                   \
    extern "C" __global__ void read_##SUFFIX(const Element *a, const Element *b,      \
        Element *out, u32 factor, size_t count, u32 passes, u32 shift)                \
    { read<Element, N>(a, (u32 *)out, count, passes, shift); }                        \
    extern "C" __global__ void write_##SUFFIX(const Element *a, const Element *b,     \
        Element *out, u32 factor, size_t count, u32 passes, u32 shift)                \
    { write<Element, N>(out, factor, count, passes, shift); }                         \
    extern "C" __global__ void copy_##SUFFIX(const Element *a, const Element *b,      \
        Element *out, u32 factor, size_t count, u32 passes, u32 shift)                \
    { copy<Element, N>(a, out, count, passes, shift); }                               \
    extern "C" __global__ void triad_##SUFFIX(const Element *a, const Element *b,     \
        Element *out, u32 factor, size_t count, u32 passes, u32 shift)                \
    { triad<Element, N>(a, b, out, count, passes, shift); }

KERNELS(4x1, u32, 1)
KERNELS(16x1, uint4, 1)
KERNELS(16x4, uint4, 4)

// Four words for each thread, with four instructions: what `copy_16x1` moves with one.
extern "C" __global__ void copy_4x4(const u32 *a, const u32 *b, u32 *out, u32 factor,
                                    size_t count, u32 passes, u32 shift)
{ copy<u32, 4>(a, out, count, passes, shift); }

// ANCHOR: lean
// As `read_16x4`, for blocks of 1,024 threads, each with a share of `share` elements in one piece:
// whole tiles. No element is past the end, and the four loads differ by constants: the loop has a
// third of the instructions.
extern "C" __global__ __launch_bounds__(1024) void read_lean(const uint4 *a, u32 *sums, u32 share,
                                                             u32 passes)
{
    const u32 THREADS = 1024;
    const uint4 *mine = a + (size_t)blockIdx.x * share + threadIdx.x;
    u32 sum = 0;
    for (u32 pass = 0; pass < passes; pass++)
        for (u32 i = 0; i < share; i += 4 * THREADS) {
            uint4 v[4];
            for (int k = 0; k < 4; k++)
                v[k] = mine[i + k * THREADS];
            for (int k = 0; k < 4; k++)
                sum += total(v[k]);
        }
    sums[blockIdx.x * THREADS + threadIdx.x] = sum;
}
// ANCHOR_END: lean

// ANCHOR: empty
// Blocks that end as soon as they have begun: what starting them takes, and nothing else.
extern "C" __global__ void empty() {}
// ANCHOR_END: empty

// ANCHOR: queue
// Persistent blocks, as in `copy_16x4`, but each takes the next tile that is
// still free. `next` counts them, and is 0 at the start.
extern "C" __global__ void copy_queue(const uint4 *a, uint4 *out, size_t count,
                                      u32 *next)
{
    size_t tile = (size_t)blockDim.x * 4;
    __shared__ u32 taken;
    for (;;) {
        if (threadIdx.x == 0)
            taken = atomicAdd(next, 1);
        __syncthreads();
        size_t first = taken * tile;
        if (first >= count)
            return;
        uint4 v[4];
        load(v, a, first + threadIdx.x, count);
        store(v, out, first + threadIdx.x, count);
        __syncthreads();
    }
}
// ANCHOR_END: queue
