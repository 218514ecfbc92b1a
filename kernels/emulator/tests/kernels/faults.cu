// Kernels that are wrong, each in one way, and some that only look as if they were.

extern "C" __global__ void out_of_bounds(const unsigned int *in, unsigned int *out)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + 1;
}

extern "C" __global__ void misaligned(const unsigned int *in, uint4 *out)
{
    out[threadIdx.x] = *(const uint4 *)(in + 4 * threadIdx.x + 1);
}

extern "C" __global__ void unwritten_shared(unsigned int *out)
{
    __shared__ unsigned int tile[64];
    if (threadIdx.x > 0)
        tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];
}

extern "C" __global__ void past_the_tile(unsigned int *out, unsigned int step)
{
    __shared__ unsigned int tile[64];
    tile[threadIdx.x * step] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];
}

extern "C" __global__ void race(unsigned int *out)
{
    __shared__ unsigned int tile[64];
    tile[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

extern "C" __global__ void barrier_in_a_branch(unsigned int *out, unsigned int count)
{
    __shared__ unsigned int tile[64];
    tile[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < count)
        __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];
}

extern "C" __global__ void barrier_after_return(unsigned int *out, unsigned int count)
{
    __shared__ unsigned int tile[64];
    if (threadIdx.x >= count)
        return;
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];
}

extern "C" __global__ void shuffle_from_outside(unsigned int *out)
{
    unsigned int value = threadIdx.x;
    if (threadIdx.x < 16)
        value = __shfl_sync(0x0000ffff, value, threadIdx.x + 8);
    out[threadIdx.x] = value;
}

extern "C" __global__ void never_unlocked(unsigned int *lock, unsigned int *out)
{
    while (atomicCAS(lock, 0, 1) != 0)
        ;
    *out += 1;
}

// Right: a lock for each thread of a warp in turn.
extern "C" __global__ void spin_lock(unsigned int *lock, volatile unsigned int *count)
{
    while (atomicCAS(lock, 0, 1) != 0)
        ;
    *count = *count + 1;
    __threadfence();
    atomicExch(lock, 0);
}

// Right: a warp that waits for another of its block.
extern "C" __global__ void wait_for_a_warp(volatile unsigned int *flag, unsigned int *out)
{
    if (threadIdx.x < 32)
        while (*flag == 0)
            ;
    else if (threadIdx.x == 32)
        *flag = 1;
    out[threadIdx.x] = threadIdx.x;
}

extern "C" __global__ void waits_for_ever(volatile unsigned int *flag)
{
    while (*flag == 0)
        ;
}

extern "C" __global__ void trapped(unsigned int limit)
{
    if (threadIdx.x > limit)
        __trap();
}

extern "C" __device__ void __assertfail(const char *, const char *, unsigned int,
                                        const char *, size_t);

extern "C" __global__ void asserted(unsigned int limit)
{
    if (threadIdx.x > limit)
        __assertfail("threadIdx.x <= limit", "faults.cu", 113, "asserted", 1);
}

__device__ unsigned int factorial(unsigned int n) __attribute__((noinline));
__device__ unsigned int factorial(unsigned int n)
{
    return n < 2 ? 1 : n * factorial(n - 1) + factorial(n - 2);
}

extern "C" __global__ void recursive(unsigned int *out)
{
    *out = factorial(*out);
}

extern "C" __global__ void too_much_shared(unsigned int *out)
{
    __shared__ unsigned int small[32];
    __shared__ unsigned int rows[256 * 65];
    small[threadIdx.x] = rows[threadIdx.x * 65] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = rows[(31 - threadIdx.x) * 65] + small[31 - threadIdx.x];
}

extern "C" __global__ void dynamic_without_bytes(unsigned int *out)
{
    extern __shared__ unsigned int part[];
    part[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = part[31 - threadIdx.x];
}

// The compiler puts a part of this loop into line 0.
extern "C" __global__ void never_counts(const float *in, float *out, float factor, int n)
{
    int first = blockIdx.x * blockDim.x * 8 + threadIdx.x;
    for (int k = 0; k < 8; ) {
        int i = first + k * blockDim.x;
        if (i < n) out[i] = factor * in[i];
    }
}

// The index stays inside the block's memory: what is behind `few` is `many`.
extern "C" __global__ void into_the_next_array(unsigned int *out)
{
    __shared__ unsigned int few[32], many[64];
    unsigned int t = threadIdx.x;
    few[t] = many[t] = many[t + 32] = t;
    __syncthreads();
    few[t + out[t]] = 7;
    __syncthreads();
    out[t] = few[t] + many[t];
}

// All lanes are named, and those that are not in the branch do something else.
extern "C" __global__ void shuffle_in_a_branch(unsigned int *out)
{
    unsigned int t = threadIdx.x, at = 99;
    if (out[t]) {
        unsigned int base = t == 1 ? 5 : 0;
        at = __shfl_sync(0xffffffff, base, 1) + t;
    }
    out[t] = at;
}

// As cooperative_groups' grid barrier does it: two words tell of a cooperative launch.
extern "C" __global__ void barrier_of_the_grid()
{
    unsigned int there;
    asm volatile("mov.u32 %0, %%envreg2;" : "=r"(there));
    if (there == 0)
        __trap();
}

extern "C" __global__ void barrier_for_some(unsigned int *out, unsigned int first, unsigned int others)
{
    unsigned int count = threadIdx.x < 32 ? first : others;
    asm volatile("barrier.sync 1, %0;" :: "r"(count) : "memory");
    out[threadIdx.x] = count;
}

extern "C" __global__ void shuffle_of_width(unsigned int *out, int width)
{
    out[threadIdx.x] = __shfl_down_sync(0xffffffff, threadIdx.x, 1, width);
}
