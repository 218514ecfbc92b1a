// All-reduce: every GPU has a vector, and every GPU gets the sum of all of them.
//
// What is called `next`, `previous`, `there` and `to` lies in other GPUs' memory: a
// store there crosses the link. A chunk is one GPU's part of a vector, and a multiple of
// 16 bytes but for the last.

constexpr unsigned MOST_GPUS = 8;
constexpr unsigned MOST_BLOCKS = 512;
constexpr unsigned MOST_TAGGED = 16384;

__device__ size_t up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }
__device__ size_t least(size_t a, size_t b) { return a < b ? a : b; }
__device__ size_t most(size_t a, size_t b) { return a < b ? b : a; }
__device__ float4 operator+(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// Element i of a GPU's input: whole numbers below 2^20, different in neighbours and on each
// GPU. A float holds the sums of up to 16 such numbers exactly, in any order.
__device__ float value(unsigned gpu, size_t i)
{
    return (float)(((unsigned)i * 2654435761u + gpu * 2246822519u) >> 12);
}

extern "C" __global__ void fill(float *input, size_t count, unsigned gpu)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        input[i] = value(gpu, i);
}

// Counts the elements that are not the sum.
extern "C" __global__ void compare(const float *output, size_t count, unsigned gpus,
                                   unsigned long long *wrong)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        float sum = 0;
        for (unsigned gpu = 0; gpu < gpus; gpu++)
            sum += value(gpu, i);
        if (output[i] != sum)
            atomicAdd(wrong, 1ull);
    }
}

// ANCHOR: pass
// Passes elements on to the next GPU: what has arrived here, with this GPU's input
// added, or only one of both. KEEP: the sum is complete, and belongs here as well.
// `thread` of `threads` takes four vectors of 16 bytes at a time, all loads first.
template <bool ARRIVED, bool ADD, bool KEEP>
__device__ void pass(const float *input, float *output, float *next, size_t begin,
                     size_t end, size_t thread, size_t threads)
{
    constexpr int AT_ONCE = 4;
    const float4 *input4 = (const float4 *)input;
    float4 *output4 = (float4 *)output, *next4 = (float4 *)next;
    for (size_t v = begin / 4 + thread; v < end / 4; v += AT_ONCE * threads) {
        float4 sum[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            size_t i = v + k * threads;
            if (i < end / 4) {
                if (ARRIVED)
                    sum[k] = ADD ? output4[i] + input4[i] : output4[i];
                else
                    sum[k] = input4[i];
            }
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            size_t i = v + k * threads;
            if (i < end / 4) {
                next4[i] = sum[k];
                if (KEEP)
                    output4[i] = sum[k];
            }
        }
    }
    // A vector's last elements, if they do not fill 16 bytes.
    for (size_t i = most(begin, end / 4 * 4) + thread; i < end; i += threads) {
        float sum = (ARRIVED ? output[i] : 0) + (ADD || !ARRIVED ? input[i] : 0);
        next[i] = sum;
        if (KEEP)
            output[i] = sum;
    }
}

// What a GPU does in each step. In the first it only sends. Up to the middle it adds,
// so that after n - 1 passes one GPU has a chunk's sum; the rest spreads the sums.
__device__ void take_step(unsigned step, unsigned gpus, const float *input,
                          float *output, float *next, size_t begin, size_t end,
                          size_t thread, size_t threads)
{
    if (step == 0)
        pass<false, false, false>(input, output, next, begin, end, thread, threads);
    else if (step < gpus - 1)
        pass<true, true, false>(input, output, next, begin, end, thread, threads);
    else if (step == gpus - 1)
        pass<true, true, true>(input, output, next, begin, end, thread, threads);
    else
        pass<true, false, false>(input, output, next, begin, end, thread, threads);
}

// The chunk that GPU `rank` passes on in a step: its own at first, then always the one
// that the GPU before it had.
__device__ unsigned chunk_of(unsigned rank, unsigned gpus, unsigned step)
{
    return (rank + 2 * gpus - step) % gpus;
}
// ANCHOR_END: pass

// ANCHOR: step
// One step of one GPU as a launch of its own. Events order the launches.
extern "C" __global__ void ring_step(const float *input, float *output, float *next,
                                     size_t count, unsigned rank, unsigned gpus,
                                     unsigned step)
{
    size_t chunk = up((count + gpus - 1) / gpus, 4);
    size_t begin = least(chunk_of(rank, gpus, step) * chunk, count);
    take_step(step, gpus, input, output, next, begin, least(begin + chunk, count),
              (size_t)blockIdx.x * blockDim.x + threadIdx.x,
              (size_t)gridDim.x * blockDim.x);
}
// ANCHOR_END: step

// ANCHOR: flags
// A flag is a number that only grows. A thread that sees it sees all writes before it, by
// this thread and, if a barrier is between, by its block.
__device__ void raise(unsigned long long *flag, unsigned long long number)
{
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(number)
                 : "memory");
}

// Waits until a flag is at least `number`, and returns it; or 0 after `patience` cycles:
// a kernel that waits forever for another GPU cannot be stopped.
__device__ unsigned long long wait(const unsigned long long *flag,
                                   unsigned long long number, long long patience,
                                   unsigned *stuck)
{
    unsigned long long seen;
    long long start = clock64();
    do {
        asm volatile("ld.acquire.sys.global.u64 %0, [%1];"
                     : "=l"(seen)
                     : "l"(flag)
                     : "memory");
        if (seen >= number)
            return seen;
    } while (clock64() - start < patience);
    *stuck = 1;
    return 0;
}

// Some two seconds; none at all once anything has given up.
__device__ long long patience_left(const unsigned *stuck)
{
    return *stuck ? 0 : 4000000000ll;
}

// The same for a block: after all that its threads wrote, before what they read.
__device__ void block_raises(unsigned long long *flag, unsigned long long number)
{
    __syncthreads();
    if (threadIdx.x == 0)
        raise(flag, number);
}

__device__ bool block_waits(const unsigned long long *flag, unsigned long long number,
                            long long patience, unsigned *stuck)
{
    return __syncthreads_and(threadIdx.x != 0 || wait(flag, number, patience, stuck));
}
// ANCHOR_END: flags

// ANCHOR: ring
// All steps in one launch. The blocks take turns at the slices of a chunk. Block b deals
// with the blocks b of its neighbours only: a flag tells the next GPU how many slices have
// arrived from it. `launch` counts the launches, so that flags need not be reset.
extern "C" __global__ void ring(const float *input, float *output, float *next,
                                unsigned long long *flags,
                                unsigned long long *next_flags,
                                unsigned long long *previous_flags, size_t count,
                                unsigned rank, unsigned gpus, size_t slice,
                                unsigned long long launch, unsigned *stuck)
{
    size_t chunk = up((count + gpus - 1) / gpus, 4);
    slice = least(slice, up((chunk + gridDim.x - 1) / gridDim.x, 4));
    size_t round = slice * gridDim.x, rounds = (chunk + round - 1) / round;
    unsigned long long none = launch << 32; // of this launch's slices
    long long patience = patience_left(stuck);

    // My output is free: tell the GPU before me. Mine is the next GPU's.
    block_raises(previous_flags + MOST_BLOCKS + blockIdx.x, none);
    if (!block_waits(flags + MOST_BLOCKS + blockIdx.x, none, patience, stuck))
        return;
    unsigned steps = 2 * gpus - 2;
    for (unsigned step = 0; step < steps; step++) {
        size_t chunk_begin = least(chunk_of(rank, gpus, step) * chunk, count);
        size_t chunk_end = least(chunk_begin + chunk, count);
        for (size_t r = 0; r < rounds; r++) {
            unsigned long long needed = none + (step - 1) * rounds + r + 1;
            if (step > 0 && !block_waits(flags + blockIdx.x, needed, patience, stuck))
                return;
            size_t begin = chunk_begin + r * round + blockIdx.x * slice;
            begin = least(begin, chunk_end);
            size_t end = least(begin + slice, chunk_end);
            take_step(step, gpus, input, output, next, begin, end, threadIdx.x,
                      blockDim.x);
            block_raises(next_flags + blockIdx.x, none + step * rounds + r + 1);
        }
    }
    block_waits(flags + blockIdx.x, none + steps * rounds, patience, stuck);
}
// ANCHOR_END: ring

// ANCHOR: direct
struct OnEach {
    unsigned long long at[MOST_GPUS];
};

// Without a ring: GPU `rank` reads its chunk from all GPUs, and writes the sum to all.
// Block b waits for the blocks b of all GPUs, before and after; each thread for one.
extern "C" __global__ void direct(OnEach inputs, OnEach outputs, OnEach flags,
                                  size_t count, unsigned rank, unsigned gpus,
                                  unsigned long long launch, unsigned *stuck)
{
    __shared__ const float *from[MOST_GPUS];
    __shared__ float *to[MOST_GPUS];
    unsigned long long *there = nullptr, *here = nullptr;
    long long patience = patience_left(stuck);
    if (threadIdx.x < gpus) {
        unsigned other = (rank + threadIdx.x) % gpus;
        from[threadIdx.x] = (const float *)inputs.at[other];
        to[threadIdx.x] = (float *)outputs.at[other];
        size_t mine = 2 * MOST_BLOCKS + blockIdx.x * MOST_GPUS;
        there = (unsigned long long *)flags.at[other] + mine + rank;
        here = (unsigned long long *)flags.at[rank] + mine + other;
        raise(there, 2 * launch);
    }
    bool ready = here == nullptr || wait(here, 2 * launch, patience, stuck);
    if (!__syncthreads_and(ready))
        return;

    size_t chunk = up((count + gpus - 1) / gpus, 4);
    size_t begin = least(rank * chunk, count), end = least(begin + chunk, count);
    size_t thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    size_t threads = (size_t)gridDim.x * blockDim.x;
    for (size_t v = begin / 4 + thread; v < end / 4; v += threads) {
        float4 read[MOST_GPUS];
#pragma unroll
        for (unsigned k = 0; k < MOST_GPUS; k++)
            if (k < gpus)
                read[k] = ((const float4 *)from[k])[v];
        float4 sum = read[0];
#pragma unroll
        for (unsigned k = 1; k < MOST_GPUS; k++)
            if (k < gpus)
                sum = sum + read[k];
        for (unsigned k = 0; k < gpus; k++)
            ((float4 *)to[k])[v] = sum;
    }
    for (size_t i = most(begin, end / 4 * 4) + thread; i < end; i += threads) {
        float sum = 0;
        for (unsigned k = 0; k < gpus; k++)
            sum += from[k][i];
        for (unsigned k = 0; k < gpus; k++)
            to[k][i] = sum;
    }

    __syncthreads();
    if (there != nullptr) {
        raise(there, 2 * launch + 1);
        wait(here, 2 * launch + 1, patience, stuck);
    }
}
// ANCHOR_END: direct

// ANCHOR: tagged
// For few elements: each carries its own flag with it, in one store of 8 bytes, which
// arrives whole or not at all. No fence, no barrier, one way over the link. All GPUs add
// in the same order, so that all get the same bits. A GPU can be one launch ahead of
// another, not two: so there are two inboxes.
extern "C" __global__ void tagged(const float *input, float *output, OnEach inboxes,
                                  size_t count, unsigned rank, unsigned gpus,
                                  unsigned long long launch, unsigned *stuck)
{
    long long patience = patience_left(stuck);
    unsigned long long tag = launch << 32;
    size_t inbox = launch % 2 * MOST_GPUS * MOST_TAGGED;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        float mine = input[i], sum = 0;
        for (unsigned k = 1; k < gpus; k++) {
            unsigned other = (rank + k) % gpus;
            unsigned long long *there = (unsigned long long *)inboxes.at[other];
            asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(
                             there + inbox + rank * MOST_TAGGED + i),
                         "l"(tag | __float_as_uint(mine))
                         : "memory");
        }
        const unsigned long long *here = (unsigned long long *)inboxes.at[rank];
        here += inbox + i;
        for (unsigned gpu = 0; gpu < gpus; gpu++)
            sum += gpu == rank ? mine
                               : __uint_as_float((unsigned)wait(
                                     here + gpu * MOST_TAGGED, tag, patience, stuck));
        output[i] = sum;
    }
}
// ANCHOR_END: tagged
