// Atomic operations. A launch makes `count` changes, 16 for each thread, to the cells 0 to
// `mask`, which is one less than a power of two. Change i goes to cell i & mask, so that
// neighbouring threads have neighbouring cells, or to a random cell.

typedef unsigned int u32;
typedef unsigned long long u64;

// ANCHOR: cell
__device__ u32 cell(u32 i, u32 mask, u32 random)
{
    if (random) {
        i = (i ^ i >> 16) * 0x85ebca6bu;
        i = (i ^ i >> 13) * 0xc2b2ae35u;
        i ^= i >> 16;
    }
    return i & mask;
}

// Calls `change(i)` for each change that is this thread's.
template <class Change>
__device__ void each(u32 count, Change change)
{
    u32 threads = gridDim.x * blockDim.x;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads)
        change(i);
}
// ANCHOR_END: cell

// What change i adds, times `sign`: a word with all bits random, or for floats an odd integer
// from -127 to 127: as many below zero as above, so that any sum that can come about here is
// exact.
__device__ u32 amount(u32 i, int sign) { return i * 2654435761u * sign; }
__device__ int little(u32 i, int sign) { return ((int)(i * 2654435761u) >> 24 | 1) * sign; }

// ANCHOR: add
extern "C" __global__ void add_u32(u32 *cells, u32 mask, u32 random, u32 count, int sign)
{
    each(count, [&](u32 i) {
        atomicAdd(&cells[cell(i, mask, random)], amount(i, sign));
    });
}
// ANCHOR_END: add

extern "C" __global__ void add_u64(u64 *cells, u32 mask, u32 random, u32 count, int sign)
{
    each(count, [&](u32 i) {
        u64 v = (u64)i * 0x9e3779b97f4a7c15ull * (u64)(long long)sign;
        atomicAdd(&cells[cell(i, mask, random)], v);
    });
}

extern "C" __global__ void add_f32(float *cells, u32 mask, u32 random, u32 count, int sign)
{
    each(count, [&](u32 i) {
        atomicAdd(&cells[cell(i, mask, random)], (float)little(i, sign));
    });
}

extern "C" __global__ void add_f64(double *cells, u32 mask, u32 random, u32 count, int sign)
{
    each(count, [&](u32 i) {
        atomicAdd(&cells[cell(i, mask, random)], (double)little(i, sign));
    });
}

extern "C" __global__ void max_u32(u32 *cells, u32 mask, u32 random, u32 count, int sign)
{
    each(count, [&](u32 i) {
        atomicMax(&cells[cell(i, mask, random)], amount(i, 1));
    });
}

// One attempt each: the first thread that finds `turn` in a cell leaves `turn` + 1 there, and
// all others are too late. Each thread counts the cells that it won.
extern "C" __global__ void cas_u32(u32 *cells, u32 *out, u32 mask, u32 random, u32 count,
                                   u32 turn)
{
    u32 won = 0;
    each(count, [&](u32 i) {
        won += atomicCAS(&cells[cell(i, mask, random)], turn, turn + 1) == turn;
    });
    out[blockIdx.x * blockDim.x + threadIdx.x] = won;
}

// ANCHOR: result
// A counter, and a counter whose old values are used: tickets, no two alike.
extern "C" __global__ void count_u32(u32 *cells, u32 *out, u32 mask, u32 random, u32 count,
                                     u32 one)
{
    each(count, [&](u32 i) { atomicAdd(&cells[cell(i, mask, random)], one); });
    out[blockIdx.x * blockDim.x + threadIdx.x] = 0;
}

extern "C" __global__ void ticket_u32(u32 *cells, u32 *out, u32 mask, u32 random, u32 count,
                                      u32 one)
{
    u32 sum = 0;
    each(count, [&](u32 i) { sum += atomicAdd(&cells[cell(i, mask, random)], one); });
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
// ANCHOR_END: result

// ANCHOR: loop
// What hardware has no instruction for is a loop: read, compute, and write if the word
// is still the same. Here it is an addition, to compare it with the instruction.
extern "C" __global__ void add_f32_loop(float *cells, u32 mask, u32 random, u32 count, int sign)
{
    each(count, [&](u32 i) {
        u32 *word = (u32 *)&cells[cell(i, mask, random)];
        u32 seen = *(volatile u32 *)word, expected;
        do {
            expected = seen;
            float sum = __uint_as_float(expected) + (float)little(i, sign);
            seen = atomicCAS(word, expected, __float_as_uint(sum));
        } while (seen != expected);
    });
}
// ANCHOR_END: loop

// ANCHOR: scope
// Each block has cells of its own, `mask` + 1 of them: in shared memory first, or in device
// memory all the time, where its additions are atomic for the block or for the whole GPU.
extern "C" __global__ void own_shared(u32 *cells, u32 mask, u32 random, u32 count, int sign)
{
    __shared__ u32 mine[1024];
    for (u32 c = threadIdx.x; c <= mask; c += blockDim.x)
        mine[c] = 0;
    __syncthreads();
    each(count, [&](u32 i) { atomicAdd(&mine[cell(i, mask, random)], amount(i, sign)); });
    __syncthreads();
    for (u32 c = threadIdx.x; c <= mask; c += blockDim.x)
        cells[blockIdx.x * (mask + 1) + c] += mine[c];
}

extern "C" __global__ void own_block(u32 *cells, u32 mask, u32 random, u32 count, int sign)
{
    u32 *mine = &cells[blockIdx.x * (mask + 1)];
    each(count, [&](u32 i) { atomicAdd_block(&mine[cell(i, mask, random)], amount(i, sign)); });
}

extern "C" __global__ void own_device(u32 *cells, u32 mask, u32 random, u32 count, int sign)
{
    u32 *mine = &cells[blockIdx.x * (mask + 1)];
    each(count, [&](u32 i) { atomicAdd(&mine[cell(i, mask, random)], amount(i, sign)); });
}
// ANCHOR_END: scope
