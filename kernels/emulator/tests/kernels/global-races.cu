// compute: 8.0
// Kernels with a race in device memory, and kernels that only look as if they had one. `in` is
// read only; all of `out` is zero, and so is `flag`. The test says how many blocks and threads.

#define KERNEL extern "C" __global__ void
typedef unsigned int word;

// Wrong.

KERNEL shift_in_place(const word *in, word *out, word *flag)
{
    word i = blockIdx.x * blockDim.x + threadIdx.x;
    word next = out[i + 1];
    out[i] = next;
}

KERNEL no_barrier(const word *in, word *out, word *flag)
{
    out[threadIdx.x] = in[threadIdx.x];
    out[128 + threadIdx.x] = out[127 - threadIdx.x];
}

KERNEL no_warp_barrier(const word *in, word *out, word *flag)
{
    out[threadIdx.x] = in[threadIdx.x];
    out[32 + threadIdx.x] = out[31 - threadIdx.x];
}

KERNEL only_a_fence(const word *in, word *out, word *flag)
{
    out[threadIdx.x] = in[threadIdx.x];
    __threadfence();
    out[128 + threadIdx.x] = out[127 - threadIdx.x];
}

KERNEL lanes_write_different_values(const word *in, word *out, word *flag)
{
    out[0] = in[threadIdx.x];
}

KERNEL blocks_write_different_values(const word *in, word *out, word *flag)
{
    if (threadIdx.x == 0)
        out[0] = in[blockIdx.x];
}

KERNEL what_the_block_before_wrote(const word *in, word *out, word *flag)
{
    if (threadIdx.x == 0)
        out[blockIdx.x + 1] =
            out[blockIdx.x] + in[blockIdx.x];
}

KERNEL what_the_next_block_writes(const word *in, word *out, word *flag)
{
    word i = blockIdx.x * blockDim.x + threadIdx.x;
    word next = out[i + blockDim.x];
    out[i] = next + 1;
}

KERNEL a_sum_without_an_atomic(const word *in, word *out, word *flag)
{
    if (threadIdx.x == 0)
        *out += in[blockIdx.x];
}

KERNEL a_volatile_sum(const word *in, volatile word *out, word *flag)
{
    if (threadIdx.x == 0)
        *out = *out + in[blockIdx.x];
}

KERNEL bins_without_an_atomic(const word *in, word *out, word *flag)
{
    out[in[threadIdx.x] % 16]++;
}

KERNEL cleared_by_one_block(const word *in, word *out, word *flag)
{
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *out = 0;
    __syncthreads();
    atomicAdd(out, in[threadIdx.x]);
}

KERNEL a_total_that_is_not_complete(const word *in, word *out, word *flag)
{
    if (threadIdx.x == 0) {
        atomicAdd(flag, in[blockIdx.x]);
        out[blockIdx.x] = *flag;
    }
}

KERNEL atomic_for_a_block_only(const word *in, word *out, word *flag)
{
    atomicAdd_block(out, in[threadIdx.x]);
}

KERNEL two_steps_in_one_launch(const word *in, word *out, word *flag)
{
    word i = blockIdx.x * blockDim.x + threadIdx.x, last = gridDim.x * blockDim.x - 1;
    out[i] = in[i];
    __syncthreads();
    out[512 + i] = out[last - i];
}

// The last block adds up what all have written.
template <int FENCE>
__device__ void last_block(const word *in, word *out, word *count)
{
    __shared__ word before;
    word t = threadIdx.x;
    if (t == 0) {
        out[blockIdx.x] = in[blockIdx.x];
        if (FENCE == 1)
            __threadfence_block();
        if (FENCE == 2)
            __threadfence();
        before = atomicAdd(count, 1);
    }
    __syncthreads();
    if (before == gridDim.x - 1 && t < gridDim.x)
        out[512 + t] = out[t];
}

KERNEL last_block_without_a_fence(const word *in, word *out, word *flag)
{
    last_block<0>(in, out, flag);
}

KERNEL last_block_with_a_fence_for_a_block(const word *in, word *out, word *flag)
{
    last_block<1>(in, out, flag);
}

// All threads write, and one tells of it, without a barrier between.
KERNEL last_block_without_a_barrier(const word *in, word *out, word *flag)
{
    __shared__ word before;
    word t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    out[i] = in[i];
    if (t == 0) {
        __threadfence();
        before = atomicAdd(flag, 1);
    }
    __syncthreads();
    if (before == gridDim.x - 1)
        out[512 + t] = out[t];
}

KERNEL a_flag_without_a_fence(const word *in, word *out, volatile word *flag)
{
    if (threadIdx.x != 0)
        return;
    if (blockIdx.x == 0) {
        out[0] = in[0];
        *flag = 1;
    } else {
        while (*flag == 0)
            ;
        __threadfence();
        out[blockIdx.x] = out[0];
    }
}

KERNEL a_lock_without_a_fence(const word *in, word *out, word *flag)
{
    if (threadIdx.x != 0)
        return;
    while (atomicCAS(flag, 0, 1) != 0)
        ;
    *out += in[blockIdx.x];
    atomicExch(flag, 0);
}

KERNEL one_too_many(const word *in, word *out, word *flag)
{
    for (word i = 0; i < 5; i++)
        out[4 * threadIdx.x + i] = in[4 * threadIdx.x + i] + threadIdx.x;
}

KERNEL a_copy_of_what_another_writes(const word *in, word *out, word *flag)
{
    __shared__ word tile[128];
    word t = threadIdx.x, address = (word)__cvta_generic_to_shared(&tile[t]);
    out[t] = in[t];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(address), "l"(out + 127 - t) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    out[128 + t] = tile[t];
}

// Right.

KERNEL each_its_own(const word *in, word *out, word *flag)
{
    word i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] += in[i];
    out[i] *= 3;
}

KERNEL a_barrier(const word *in, word *out, word *flag)
{
    word first = blockIdx.x * blockDim.x, t = threadIdx.x;
    for (int step = 0; step < 3; step++) {
        out[first + t] = in[t] + step;
        __syncthreads();
        word other = out[first + blockDim.x - 1 - t];
        __syncthreads();
        out[512 + first + t] = other;
    }
}

KERNEL a_warp_barrier(const word *in, word *out, word *flag)
{
    word t = threadIdx.x;
    out[t] = in[t];
    __syncwarp();
    out[128 + t] = out[t ^ 31];
}

KERNEL a_grid_stride_loop(const word *in, word *out, word *flag)
{
    for (word i = blockIdx.x * blockDim.x + threadIdx.x; i < 1000; i += gridDim.x * blockDim.x)
        out[i] = in[i % 512] + out[i];
}

KERNEL pieces_of_four(const word *in, uint4 *out, word *flag)
{
    word i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 200) {
        uint4 old = out[i];
        out[i] = make_uint4(old.x + 1, in[i], old.z, 4);
    }
}

KERNEL columns(const word *in, word *out, word *flag)
{
    word t = threadIdx.x, b = blockIdx.x;
    out[t * gridDim.x + b] = in[t];
    out[t * gridDim.x + b] += in[b];
}

KERNEL all_read_the_same(const word *in, word *out, word *flag)
{
    word i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    for (word k = 0; k < 40; k++)
        sum += in[k] + in[threadIdx.x + k];
    out[i] = sum;
}

KERNEL atomics_only(const word *in, word *out, word *flag)
{
    atomicAdd(&out[in[threadIdx.x] % 16], 1);
    atomicMax(&out[16], in[threadIdx.x]);
}

KERNEL the_same_value(const word *in, word *out, word *flag)
{
    if (in[threadIdx.x] % 2 == 1)
        *out = 1;
}

KERNEL atomic_for_a_block_each(const word *in, word *out, word *flag)
{
    atomicAdd_block(&out[blockIdx.x], in[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0)
        out[512 + blockIdx.x] = out[blockIdx.x];
}

KERNEL last_block_with_a_fence(const word *in, word *out, word *flag)
{
    last_block<2>(in, out, flag);
}

// All threads write and have a fence of their own; one counts.
KERNEL last_block_of_many_writers(const word *in, word *out, word *flag)
{
    __shared__ word before;
    word t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    out[i] = in[i];
    __threadfence();
    __syncthreads();
    if (t == 0)
        before = atomicInc(flag, gridDim.x - 1);
    __syncthreads();
    if (before == gridDim.x - 1)
        for (word k = 0; k < gridDim.x; k++)
            out[512 + t] += out[k * blockDim.x + t];
}

KERNEL last_block_of_one_fence(const word *in, word *out, word *flag)
{
    __shared__ word before;
    word t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    out[i] = in[i];
    __syncthreads();
    if (t == 0) {
        __threadfence();
        before = atomicAdd(flag, 1);
        __threadfence();
    }
    __syncthreads();
    if (before == gridDim.x - 1)
        out[512 + t] = out[t];
}

// A warp for each block: lane 0 counts, and a shuffle tells the others.
KERNEL last_warp(const word *in, word *out, word *flag)
{
    word t = threadIdx.x, before = 0;
    out[blockIdx.x * 32 + t] = in[t];
    __threadfence();
    __syncwarp();
    if (t == 0)
        before = atomicAdd(flag, 1);
    before = __shfl_sync(0xffffffff, before, 0);
    if (before == gridDim.x - 1)
        out[512 + t] = out[t] + out[32 + t];
}

KERNEL a_flag_with_a_fence(const word *in, word *out, volatile word *flag)
{
    word t = threadIdx.x;
    if (blockIdx.x == 0) {
        out[t] = in[t];
        __syncthreads();
        if (t == 0) {
            __threadfence();
            *flag = 1;
        }
    } else {
        if (t == 0) {
            while (*flag == 0)
                ;
            __threadfence();
        }
        __syncthreads();
        out[blockIdx.x * blockDim.x + t] = out[t];
    }
}

// Each block adds to the sum of the one before it: a flag for each.
KERNEL one_block_after_the_other(const word *in, word *out, volatile word *flag)
{
    if (threadIdx.x != 0)
        return;
    word b = blockIdx.x;
    if (b > 0) {
        while (flag[b - 1] == 0)
            ;
        __threadfence();
    }
    out[b] = in[b] + (b > 0 ? out[b - 1] : 0);
    if (b == gridDim.x - 1)
        out[512] = out[0];
    __threadfence();
    flag[b] = 1;
}

KERNEL acquire_and_release(const word *in, word *out, word *flag)
{
    if (threadIdx.x != 0)
        return;
    if (blockIdx.x == 0) {
        out[0] = in[0];
        asm volatile("st.release.gpu.global.u32 [%0], 1;" :: "l"(flag) : "memory");
    } else {
        word seen = 0;
        while (seen == 0)
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        out[blockIdx.x] = out[0];
    }
}

KERNEL a_lock_with_fences(const word *in, word *out, word *flag)
{
    while (atomicCAS(flag, 0, 1) != 0)
        ;
    __threadfence();
    *out += in[threadIdx.x];
    __threadfence();
    atomicExch(flag, 0);
}

// A counter gives each block its next tile.
KERNEL tickets(const word *in, word *out, word *flag)
{
    __shared__ word tile;
    for (;;) {
        if (threadIdx.x == 0)
            tile = atomicAdd(flag, 1);
        __syncthreads();
        word mine = tile;
        __syncthreads();
        if (mine >= 7)
            return;
        out[mine * blockDim.x + threadIdx.x] = in[threadIdx.x] + mine;
    }
}

KERNEL bins_of_a_block(const word *in, word *out, word *flag)
{
    __shared__ word bins[16];
    word t = threadIdx.x;
    if (t < 16)
        bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[in[t] % 16], 1);
    __syncthreads();
    if (t < 16)
        atomicAdd(&out[t], bins[t]);
}

KERNEL neighbouring_bytes(const word *in, unsigned char *out, word *flag)
{
    word i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[threadIdx.x];
    out[i] = out[i] + 1;
}

KERNEL a_copy_with_a_barrier(const word *in, word *out, word *flag)
{
    __shared__ word tile[128];
    word t = threadIdx.x, address = (word)__cvta_generic_to_shared(&tile[t]);
    out[t] = in[t];
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(address), "l"(out + 127 - t) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    out[t] = tile[t];
}

KERNEL two_lines_write(const word *in, word *out, word *flag)
{
    word i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
    out[i + blockDim.x] = in[i] + 1;
}

// Wrong.

// All threads have read, but the one that counts has not waited for them.
KERNEL overwritten_by_the_last(const word *in, word *out, word *flag)
{
    word t = threadIdx.x;
    out[blockIdx.x * blockDim.x + t] = out[512];
    if (t == 0) {
        __threadfence();
        if (atomicAdd(flag, 1) == gridDim.x - 1) {
            __threadfence();
            out[512] = 1;
        }
    }
}

KERNEL a_flag_asked_once(const word *in, volatile word *out, word *flag)
{
    if (blockIdx.x == 0)
        out[threadIdx.x] = 1;
    else if (out[threadIdx.x] == 1)
        flag[0] = 1;
}

KERNEL cached_after_a_write(const word *in, word *out, word *flag)
{
    word t = threadIdx.x;
    out[t] = in[t];
    __syncthreads();
    out[512 + t] = __ldg(&out[127 - t]);
}

KERNEL cached_before_a_write(const word *in, word *out, word *flag)
{
    word t = threadIdx.x, old = __ldg(&out[127 - t]);
    __syncthreads();
    old += out[t];
    __syncthreads();
    out[t] = old;
}

KERNEL cached_in_place(const word *in, word *out, word *flag)
{
    out[threadIdx.x] = __ldg(&out[threadIdx.x]) + 1;
}

KERNEL a_lock_that_is_cleared(const word *in, word *out, word *flag)
{
    if (threadIdx.x != 0)
        return;
    while (atomicCAS(flag, 0, 1) != 0)
        ;
    __threadfence();
    *out += in[blockIdx.x];
    __threadfence();
    *flag = 0;
}

// Right.

KERNEL overwritten_after_all(const word *in, word *out, word *flag)
{
    word t = threadIdx.x;
    out[blockIdx.x * blockDim.x + t] = out[512];
    __syncthreads();
    if (t == 0) {
        __threadfence();
        if (atomicAdd(flag, 1) == gridDim.x - 1) {
            __threadfence();
            out[512] = 1;
        }
    }
}

KERNEL cached_beside_a_write(const word *in, word *out, word *flag)
{
    word i = blockIdx.x * blockDim.x + threadIdx.x;
    out[2 * i] = __ldg(&out[2 * i + 1]) + __ldg(&in[511 - i]);
}

// Each block adds up what those before it have, as far as they tell: a value and whether it is
// a sum, in one word.
KERNEL looks_back(const word *in, word *out, volatile word *flag)
{
    if (threadIdx.x != 0)
        return;
    word b = blockIdx.x, sum = 0;
    flag[b] = (b + 1) << 2 | (b == 0 ? 2 : 1);
    for (word i = b; i > 0;) {
        word seen = flag[i - 1];
        if ((seen & 3) == 0)
            continue;
        sum += seen >> 2;
        if ((seen & 3) == 2)
            break;
        i--;
    }
    flag[b] = (sum + b + 1) << 2 | 2;
    out[b] = sum;
}

// One thread asks, and the block goes round with it.
KERNEL a_flag_for_a_block(const word *in, word *out, volatile word *flag)
{
    __shared__ word seen;
    word t = threadIdx.x, set;
    if (blockIdx.x == 0) {
        out[t] = in[t];
        __threadfence();
        __syncthreads();
        if (t == 0)
            *flag = 1;
        return;
    }
    do {
        if (t == 0)
            seen = *flag;
        __syncthreads();
        set = seen;
        __syncthreads();
    } while (set == 0);
    __threadfence();
    out[512 + 128 * blockIdx.x % 512 + t] = out[127 - t];
}

// Wrong: until a thread waits for its copy, that may read.
KERNEL a_copy_whose_source_changes(const word *in, word *out, word *flag)
{
    __shared__ word tile[128];
    word t = threadIdx.x, address = (word)__cvta_generic_to_shared(&tile[t]);
    out[t] = in[t];
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(address), "l"(out + t) : "memory");
    __syncthreads();
    out[127 - t] = 5;
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    out[128 + t] = tile[t];
}

// Right: the place to look at next is computed from what a flag says, without a branch.
KERNEL looks_back_by_choice(const word *in, word *out, volatile word *flag)
{
    if (threadIdx.x != 0)
        return;
    word b = blockIdx.x, sum = 0;
    out[b] = in[b];
    __threadfence();
    flag[b] = 1;
    for (int i = (int)b - 1; i >= 0;) {
        word seen = flag[i];
        __threadfence();
        sum += seen ? out[i] : 0;
        i -= seen != 0;
    }
    out[512 + b] = sum;
}

// Wrong.
KERNEL turns_without_a_fence(const word *in, word *out, volatile word *flag)
{
    if (threadIdx.x != 0)
        return;
    while (*flag != blockIdx.x)
        ;
    *out += in[blockIdx.x];
    *flag = blockIdx.x + 1;
}
