// One number of many: how the threads of a block agree on a sum, or on a count of votes.

typedef unsigned int u32;

// ANCHOR: warp
// The sum of a warp's 32 values, in all of its lanes: five exchanges.
__device__ u32 warp_sum(u32 v)
{
    for (int distance = 16; distance > 0; distance /= 2)
        v += __shfl_xor_sync(~0u, v, distance);
    return v;
}
// ANCHOR_END: warp

// ANCHOR: shuffles
// The sum of a block's values, in all of its threads: a sum in each warp, a barrier, and in
// each warp the sum of those.
__device__ u32 by_shuffles(u32 v)
{
    __shared__ u32 sums[32];
    u32 lane = threadIdx.x % 32;
    v = warp_sum(v);
    if (lane == 0)
        sums[threadIdx.x / 32] = v;
    __syncthreads();
    v = warp_sum(lane < blockDim.x / 32 ? sums[lane] : 0);
    __syncthreads(); // before any thread uses `sums` again
    return v;
}
// ANCHOR_END: shuffles

// ANCHOR: tree
// The same without shuffles: the upper half is added to the lower half, and a barrier each time.
__device__ u32 by_tree(u32 v)
{
    __shared__ u32 tile[1024];
    tile[threadIdx.x] = v;
    __syncthreads();
    for (u32 half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            tile[threadIdx.x] += tile[threadIdx.x + half];
        __syncthreads();
    }
    v = tile[0];
    __syncthreads();
    return v;
}
// ANCHOR_END: tree

// ANCHOR: shared
// The same with an atomic addition for each thread, to a word of shared memory.
__device__ u32 by_atomics(u32 v)
{
    __shared__ u32 sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, v);
    __syncthreads();
    v = sum;
    __syncthreads();
    return v;
}
// ANCHOR_END: shared

// ANCHOR: votes
// How many threads of a block say yes: the barrier counts.
__device__ u32 by_barrier(bool yes) { return __syncthreads_count(yes); }

// The same from ballots: each warp's votes are the bits of a word.
__device__ u32 by_ballots(bool yes)
{
    __shared__ u32 counts[32];
    u32 lane = threadIdx.x % 32, votes = __ballot_sync(~0u, yes);
    if (lane == 0)
        counts[threadIdx.x / 32] = __popc(votes);
    __syncthreads();
    u32 count = warp_sum(lane < blockDim.x / 32 ? counts[lane] : 0);
    __syncthreads();
    return count;
}
// ANCHOR_END: votes

// What one block does again and again, so that only its own answer counts: each thread goes on
// from the sum of all, or from the count of those that are negative.
#define ALONE(NAME, ANSWER)                                                           \
    extern "C" __global__ void alone_##NAME(u32 *out, u32 rounds)                     \
    {                                                                                 \
        u32 v = threadIdx.x * 2654435761u;                                            \
        for (u32 round = 0; round < rounds; round++)                                  \
            v = (v + (ANSWER)) * 2246822519u;                                         \
        out[threadIdx.x] = v;                                                         \
    }

ALONE(shuffles, by_shuffles(v))
ALONE(tree, by_tree(v))
ALONE(atomics, by_atomics(v))
ALONE(barrier, by_barrier((int)v < 0))
ALONE(ballots, by_ballots((int)v < 0))

// ANCHOR: own
// The sum of what this thread reads: every so many-th word.
__device__ u32 own_sum(const u32 *words, u32 count)
{
    u32 sum = 0, threads = gridDim.x * blockDim.x;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads)
        sum += words[i];
    return sum;
}

__device__ u32 own_count(const u32 *words, u32 count)
{
    u32 found = 0, threads = gridDim.x * blockDim.x;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads)
        found += (int)words[i] < 0;
    return found;
}
// ANCHOR_END: own

// No total at all: what reading takes.
extern "C" __global__ void sum_none(const u32 *words, u32 *out, u32 count, u32 zero)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = own_sum(words, count);
}

// ANCHOR: sums
// An atomic addition for each thread. `zero` is 0, but the compiler does not know: where it
// knows that all threads add to one word, it adds up a warp's values by itself.
extern "C" __global__ void sum_thread(const u32 *words, u32 *out, u32 count, u32 zero)
{
    atomicAdd(&out[threadIdx.x & zero], own_sum(words, count));
}

// What one writes first. Look at what the compiler makes of it.
extern "C" __global__ void sum_plain(const u32 *words, u32 *out, u32 count, u32 zero)
{
    atomicAdd(out, own_sum(words, count));
}

// One for each warp.
extern "C" __global__ void sum_warp(const u32 *words, u32 *out, u32 count, u32 zero)
{
    u32 sum = warp_sum(own_sum(words, count));
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}

// One for each block.
extern "C" __global__ void sum_block(const u32 *words, u32 *out, u32 count, u32 zero)
{
    u32 sum = by_shuffles(own_sum(words, count));
    if (threadIdx.x == 0)
        atomicAdd(out, sum);
}
// ANCHOR_END: sums

extern "C" __global__ void sum_tree(const u32 *words, u32 *out, u32 count, u32 zero)
{
    u32 sum = by_tree(own_sum(words, count));
    if (threadIdx.x == 0)
        atomicAdd(out, sum);
}

// How many words are negative, with an atomic addition for each thread, and then for each warp
// and each block.
extern "C" __global__ void count_thread(const u32 *words, u32 *out, u32 count, u32 zero)
{
    atomicAdd(&out[threadIdx.x & zero], own_count(words, count));
}

extern "C" __global__ void count_plain(const u32 *words, u32 *out, u32 count, u32 zero)
{
    u32 found = own_count(words, count);
    if (found > 0)
        atomicAdd(out, found);
}

// ANCHOR: counts
// Whole warps go round: all 32 lanes have to vote, also those past the end.
extern "C" __global__ void count_ballot(const u32 *words, u32 *out, u32 count, u32 zero)
{
    u32 lane = threadIdx.x % 32, found = 0, threads = gridDim.x * blockDim.x;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i - lane < count; i += threads)
        found += __popc(__ballot_sync(~0u, i < count && (int)words[i] < 0));
    if (lane == 0)
        atomicAdd(out, found);
}

// And here whole blocks.
extern "C" __global__ void count_block(const u32 *words, u32 *out, u32 count, u32 zero)
{
    u32 found = 0, threads = gridDim.x * blockDim.x;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i - threadIdx.x < count; i += threads)
        found += __syncthreads_count(i < count && (int)words[i] < 0);
    if (threadIdx.x == 0)
        atomicAdd(out, found);
}
// ANCHOR_END: counts

// Word i holds i times an odd constant: half of them are negative, and no two alike.
extern "C" __global__ void fill(u32 *out, u32 count)
{
    u32 threads = gridDim.x * blockDim.x;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads)
        out[i] = i * 2654435761u;
}
