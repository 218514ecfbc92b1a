// compute: 8.0
// Kernels with a race in shared memory, and kernels that only look as if they had one. Each
// runs on one block of 128 threads, unless the test says otherwise.

#define KERNEL extern "C" __global__ void
typedef unsigned int word;

// Wrong.

KERNEL no_barrier(const word *in, word *out)
{
    __shared__ word tile[128];
    tile[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = tile[127 - threadIdx.x];
}

KERNEL volatile_is_no_barrier(const word *in, word *out)
{
    volatile __shared__ word tile[128];
    tile[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = tile[127 - threadIdx.x];
}

KERNEL barrier_only_before(const word *in, word *out)
{
    __shared__ word tile[128];
    word sum = 0;
    for (int step = 0; step < 4; step++) {
        tile[threadIdx.x] = in[threadIdx.x] + step;
        __syncthreads();
        sum += tile[127 - threadIdx.x];
    }
    out[threadIdx.x] = sum;
}

// On one warp: without lockstep, lanes are threads as any others.
KERNEL no_warp_barrier(const word *in, word *out)
{
    __shared__ word tile[32];
    tile[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = tile[31 - threadIdx.x];
}

KERNEL a_volatile_reduction(const word *in, word *out)
{
    volatile __shared__ word tile[64];
    word t = threadIdx.x;
    tile[t] = in[t];
    tile[t + 32] = in[t + 32];
    tile[t] += tile[t + 32];
    tile[t] += tile[t + 16];
    tile[t] += tile[t + 8];
    out[t] = tile[t];
}

KERNEL warp_barrier_for_a_block(const word *in, word *out)
{
    __shared__ word tile[128];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    out[threadIdx.x] = tile[127 - threadIdx.x];
}

// On one warp: the halves meet, and never each other.
KERNEL half_a_warp_barrier(const word *in, word *out)
{
    __shared__ word tile[32];
    word t = threadIdx.x;
    tile[t] = in[t];
    if (t < 16)
        __syncwarp(0x0000ffff);
    else
        __syncwarp(0xffff0000);
    out[t] = tile[31 - t];
}

KERNEL a_barrier_for_some(const word *in, word *out)
{
    __shared__ word tile[128];
    word t = threadIdx.x;
    tile[t] = in[t];
    if (t < 64)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    else
        asm volatile("bar.sync 2, 64;" ::: "memory");
    out[t] = tile[127 - t];
}

KERNEL a_flag_without_a_fence(const word *in, word *out)
{
    __shared__ word data;
    volatile __shared__ word flag;
    if (threadIdx.x == 0)
        flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        data = in[0];
        flag = 1;
    } else if (threadIdx.x == 32) {
        while (flag == 0)
            ;
        __threadfence_block();
        out[0] = data;
    }
}

KERNEL a_lock_without_a_fence(const word *in, word *out)
{
    __shared__ word lock, count;
    if (threadIdx.x == 0)
        lock = count = 0;
    __syncthreads();
    while (atomicCAS(&lock, 0, 1) != 0)
        ;
    count += in[threadIdx.x];
    atomicExch(&lock, 0);
    __syncthreads();
    out[threadIdx.x] = count;
}

KERNEL a_count_without_an_atomic(const word *in, word *out)
{
    __shared__ word bins[16];
    if (threadIdx.x < 16)
        bins[threadIdx.x] = 0;
    __syncthreads();
    bins[in[threadIdx.x] % 16]++;
    __syncthreads();
    out[threadIdx.x] = bins[threadIdx.x % 16];
}

KERNEL read_beside_atomics(const word *in, word *out)
{
    __shared__ word sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[threadIdx.x]);
    out[threadIdx.x] = sum;
}

KERNEL different_values(const word *in, word *out)
{
    __shared__ word last;
    last = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = last;
}

static __device__ void copy_async(word *to, const word *from)
{
    word address = (word)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(address), "l"(from) : "memory");
}

KERNEL a_copy_without_a_wait(const word *in, word *out)
{
    __shared__ word tile[128];
    tile[threadIdx.x] = 0;
    __syncthreads();
    copy_async(&tile[threadIdx.x], &in[threadIdx.x]);
    asm volatile("cp.async.commit_group;" ::: "memory");
    __syncthreads();
    out[threadIdx.x] = tile[127 - threadIdx.x];
    asm volatile("cp.async.wait_all;" ::: "memory");
}

KERNEL a_copy_without_a_barrier(const word *in, word *out)
{
    __shared__ word tile[128];
    copy_async(&tile[threadIdx.x], &in[threadIdx.x]);
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[threadIdx.x] = tile[127 - threadIdx.x];
}

KERNEL a_copy_over_what_is_read(const word *in, word *out)
{
    __shared__ word tile[128];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    word old = tile[127 - threadIdx.x];
    copy_async(&tile[threadIdx.x], &in[threadIdx.x]);
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[threadIdx.x] = old;
}

// Right.

KERNEL a_barrier(const word *in, word *out)
{
    __shared__ word tile[128];
    for (int step = 0; step < 4; step++) {
        tile[threadIdx.x] = in[threadIdx.x] + step;
        __syncthreads();
        out[threadIdx.x] = tile[127 - threadIdx.x];
        __syncthreads();
    }
}

// On one warp.
KERNEL a_warp_barrier(const word *in, word *out)
{
    __shared__ word tile[32];
    word t = threadIdx.x, sum = in[t];
    for (int distance = 16; distance > 0; distance /= 2) {
        tile[t] = sum;
        __syncwarp();
        sum += tile[t ^ distance];
        __syncwarp();
    }
    out[t] = sum;
}

// On one warp: groups of four.
KERNEL small_groups(const word *in, word *out)
{
    __shared__ word tile[32];
    word t = threadIdx.x, members = 0xfu << (t / 4 * 4);
    tile[t] = in[t];
    __syncwarp(members);
    out[t] = tile[t ^ 3];
}

KERNEL two_halves(const word *in, word *out)
{
    __shared__ word tile[128];
    word t = threadIdx.x, half = t / 64;
    tile[t] = in[t];
    asm volatile("bar.sync %0, 64;" :: "r"(half + 1) : "memory");
    out[t] = tile[half * 64 + 63 - t % 64];
}

KERNEL producers_and_consumers(const word *in, word *out)
{
    __shared__ word tile[64];
    word t = threadIdx.x;
    for (int step = 0; step < 3; step++) {
        if (t < 64) {
            tile[t] = in[t] + step;
            asm volatile("bar.arrive 1, 128;" ::: "memory");
            asm volatile("bar.sync 2, 128;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            out[t - 64] = tile[127 - t];
            asm volatile("bar.arrive 2, 128;" ::: "memory");
        }
    }
}

KERNEL a_flag_with_a_fence(const word *in, word *out)
{
    __shared__ word data;
    volatile __shared__ word flag;
    if (threadIdx.x == 0)
        flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        data = in[0];
        __threadfence_block();
        flag = 1;
    } else if (threadIdx.x == 32) {
        while (flag == 0)
            ;
        __threadfence_block();
        out[0] = data;
    }
}

// The whole warp writes, one lane tells.
KERNEL a_flag_for_a_warp(const word *in, word *out)
{
    __shared__ word tile[32];
    volatile __shared__ word flag;
    word t = threadIdx.x;
    if (t == 0)
        flag = 0;
    __syncthreads();
    if (t < 32) {
        tile[t] = in[t];
        __syncwarp();
        if (t == 0) {
            __threadfence_block();
            flag = 1;
        }
    } else if (t < 64) {
        if (t == 32) {
            while (flag == 0)
                ;
            __threadfence_block();
        }
        __syncwarp();
        out[t] = tile[63 - t];
    }
}

KERNEL in_turns(const word *in, word *out)
{
    __shared__ word data;
    volatile __shared__ word turn;
    word t = threadIdx.x;
    if (t == 0)
        data = turn = 0;
    __syncthreads();
    if (t % 32 == 0) {
        for (int round = 0; round < 3; round++) {
            while (turn % 4 != t / 32)
                ;
            __threadfence_block();
            data += in[t];
            __threadfence_block();
            turn = turn + 1;
        }
    }
    __syncthreads();
    out[t] = data;
}

KERNEL a_spin_lock(const word *in, word *out)
{
    __shared__ word lock, count;
    if (threadIdx.x == 0)
        lock = count = 0;
    __syncthreads();
    while (atomicCAS(&lock, 0, 1) != 0)
        ;
    __threadfence_block();
    count += in[threadIdx.x];
    __threadfence_block();
    atomicExch(&lock, 0);
    __syncthreads();
    out[threadIdx.x] = count;
}

// The lock lies in global memory, and what it protects in shared memory.
KERNEL a_lock_elsewhere(const word *in, word *out, word *lock)
{
    __shared__ word count;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    while (atomicCAS(lock, 0, 1) != 0)
        ;
    __threadfence();
    count += in[threadIdx.x];
    __threadfence();
    atomicExch(lock, 0);
    __syncthreads();
    out[threadIdx.x] = count;
}

// What cuda::atomic_ref<word, cuda::thread_scope_block> makes of release and acquire.
KERNEL acquire_and_release(const word *in, word *out)
{
    __shared__ word data, flag;
    if (threadIdx.x == 0)
        flag = 0;
    __syncthreads();
    word address = (word)__cvta_generic_to_shared(&flag);
    if (threadIdx.x == 0) {
        data = in[0];
        asm volatile("st.release.cta.shared.u32 [%0], 1;" :: "r"(address) : "memory");
    } else if (threadIdx.x == 32) {
        word seen = 0;
        while (seen == 0)
            asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(seen) : "r"(address) : "memory");
        out[0] = data;
    }
}

// The warp that counts last reads what all have written.
KERNEL the_last_warp(const word *in, word *out)
{
    __shared__ word tile[128], done;
    word t = threadIdx.x, before = 0;
    if (t == 0)
        done = 0;
    __syncthreads();
    tile[t] = in[t];
    __threadfence_block();
    __syncwarp();
    if (t % 32 == 0)
        before = atomicAdd(&done, 1);
    if (__shfl_sync(0xffffffff, before, 0) == 3)
        for (int i = t % 32; i < 128; i += 32)
            out[i] = tile[127 - i];
}

KERNEL atomics_between_barriers(const word *in, word *out)
{
    __shared__ word bins[16];
    word t = threadIdx.x;
    if (t < 16)
        bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[in[t] % 16], 1);
    __syncthreads();
    out[t] = bins[t % 16];
}

KERNEL the_same_value(const word *in, word *out)
{
    __shared__ word found;
    if (threadIdx.x == 0)
        found = 0;
    __syncthreads();
    if (in[threadIdx.x] % 2 == 1)
        found = 1;
    __syncthreads();
    out[threadIdx.x] = found;
}

KERNEL a_copy_with_a_wait(const word *in, word *out)
{
    __shared__ word tile[2][128];
    word t = threadIdx.x;
    copy_async(&tile[0][t], &in[t]);
    asm volatile("cp.async.commit_group;" ::: "memory");
    for (int step = 0; step < 4; step++) {
        copy_async(&tile[(step + 1) % 2][t], &in[t]);
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        out[t] = tile[step % 2][127 - t];
        __syncthreads();
    }
}

// Bytes of one word belong to different threads.
KERNEL neighbouring_bytes(const word *in, word *out)
{
    __shared__ unsigned char tile[128];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[127 - threadIdx.x];
}

KERNEL two_lines_write(const word *in, word *out)
{
    __shared__ word tile[256];
    tile[threadIdx.x] = in[threadIdx.x];
    tile[threadIdx.x + 32] = 0;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];
}

KERNEL neighbours_of_one_warp(const word *in, word *out)
{
    __shared__ word tile[256];
    tile[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

// Wrong.

// On one warp.
KERNEL a_volatile_maximum(const word *in, word *out)
{
    volatile __shared__ word tile[64];
    word t = threadIdx.x;
    tile[t] = in[t];
    tile[t + 32] = in[t + 32];
    for (int d = 32; d > 0; d /= 2)
        if (tile[t] < tile[t + d])
            tile[t] = tile[t + d];
    out[t] = tile[0];
}

// On one warp: it goes on until nothing changes, and waits for nobody.
KERNEL a_volatile_wave(const word *in, word *out)
{
    volatile __shared__ word tile[33];
    word t = threadIdx.x, grows;
    tile[t + 1] = in[t];
    tile[0] = 0;
    do {
        grows = tile[t] > tile[t + 1];
        if (grows)
            tile[t + 1] = tile[t];
    } while (__any_sync(0xffffffff, grows));
    out[t] = tile[t];
}

// The write comes after what three of the four warps have read.
KERNEL a_barrier_for_three_readers(const word *in, word *out)
{
    __shared__ word one;
    if (threadIdx.x == 0)
        one = in[0];
    __syncthreads();
    out[threadIdx.x] = one;
    if (threadIdx.x < 96)
        asm volatile("bar.sync 1, 96;" ::: "memory");
    if (threadIdx.x == 0)
        one = 5;
}

// On one warp.
KERNEL a_barrier_for_eight_readers(const word *in, word *out)
{
    __shared__ word one;
    word t = threadIdx.x;
    if (t == 0)
        one = in[0];
    __syncwarp();
    out[t] = one;
    if (t < 8)
        __syncwarp(0xff);
    if (t == 3)
        one = 5;
}

KERNEL two_lanes_for_each_bin(const word *in, word *out)
{
    __shared__ word bins[16];
    bins[threadIdx.x % 16] = threadIdx.x;
    __syncwarp();
    out[threadIdx.x] = bins[threadIdx.x % 16];
}

KERNEL a_barrier_in_each_branch(const word *in, word *out)
{
    __shared__ word tile[128];
    word t = threadIdx.x;
    if (t < 64) {
        tile[t] = in[t];
        __syncthreads();
        out[t] = tile[127 - t];
    } else {
        tile[t] = in[t] + 1;
        __syncthreads();
        out[t] = tile[127 - t] + 1;
    }
}

KERNEL one_barrier_more(const word *in, word *out)
{
    __shared__ word tile[128];
    word t = threadIdx.x;
    tile[t] = in[t];
    if (t < 32)
        __syncthreads();
    __syncthreads();
    out[t] = tile[127 - t];
    __syncthreads();
    tile[t] = out[t];
    __syncthreads();
    out[t] += tile[127 - t];
}

// Of ten rounds, two warps have three and two have two; these come to what is behind the loop.
KERNEL rounds_of_warps(const word *in, word *out)
{
    __shared__ word tile[128];
    word t = threadIdx.x;
    for (word round = t / 32; round < 10; round += 4) {
        tile[t] = in[t] + round;
        __syncthreads();
        out[t] = tile[127 - t];
        __syncthreads();
    }
    out[t] = tile[t ^ 64];
}

// Right.

KERNEL a_ring(const word *in, word *out)
{
    __shared__ word ring[4];
    volatile __shared__ word written, read;
    word t = threadIdx.x;
    if (t == 0)
        written = read = 0;
    __syncthreads();
    if (t == 0)
        for (word i = 0; i < 12; i++) {
            while (i - read == 4)
                ;
            __threadfence_block();
            ring[i % 4] = in[i];
            __threadfence_block();
            written = i + 1;
        }
    if (t == 32)
        for (word i = 0; i < 12;)
            if (written > i) { // leaves the loop only in the end
                __threadfence_block();
                out[i] = ring[i % 4];
                __threadfence_block();
                read = ++i;
            }
}

KERNEL a_look_before_the_lock(const word *in, word *out)
{
    __shared__ word lock, count;
    if (threadIdx.x == 0)
        lock = count = 0;
    __syncthreads();
    while (*(volatile word *)&lock != 0 || atomicCAS(&lock, 0, 1) != 0)
        ;
    __threadfence_block();
    count += in[threadIdx.x];
    __threadfence_block();
    atomicExch(&lock, 0);
    __syncthreads();
    out[threadIdx.x] = count;
}

KERNEL two_roles(const word *in, word *out)
{
    __shared__ word tile[64];
    word t = threadIdx.x;
    if (t < 64) {
        tile[t] = in[t];
        asm volatile("barrier.sync 0;" ::: "memory");
        asm volatile("bar.sync 1, 128;" ::: "memory");
    } else {
        asm volatile("barrier.sync 0;" ::: "memory");
        out[t - 64] = tile[127 - t];
        asm volatile("bar.sync 1, 128;" ::: "memory");
    }
}

KERNEL a_barrier_for_three_who_read(const word *in, word *out)
{
    __shared__ word one;
    word t = threadIdx.x;
    if (t == 0)
        one = in[0];
    __syncthreads();
    if (t < 96) {
        out[t] = one;
        asm volatile("bar.sync 1, 96;" ::: "memory");
    }
    if (t == 0)
        one = 5;
}

__device__ word exchanged(word *tile, word value)
{
    tile[threadIdx.x] = value;
    __syncthreads();
    return tile[127 - threadIdx.x];
}

KERNEL a_barrier_in_a_function(const word *in, word *out)
{
    __shared__ word tile[128];
    if (threadIdx.x < 64)
        out[threadIdx.x] = exchanged(tile, in[threadIdx.x]);
    else
        out[threadIdx.x] = exchanged(tile, 2 * in[threadIdx.x]) + 1;
}

// Peterson's lock: whose turn it is, both write.
KERNEL a_lock_for_two(const word *in, word *out)
{
    __shared__ volatile word wants[2], turn;
    __shared__ word count;
    word me = threadIdx.x / 64;
    if (threadIdx.x == 0)
        wants[0] = wants[1] = turn = count = 0;
    __syncthreads();
    if (threadIdx.x % 64 == 0)
        for (int round = 0; round < 3; round++) {
            wants[me] = 1;
            turn = 1 - me;
            __threadfence_block();
            while (wants[1 - me] && turn == 1 - me)
                ;
            __threadfence_block();
            count += in[me];
            __threadfence_block();
            wants[me] = 0;
        }
    __syncthreads();
    out[threadIdx.x] = count;
}

// Lanes that write different words at once mean something else.
KERNEL volatile_words_of_lanes(const word *in, word *out)
{
    volatile __shared__ word one;
    one = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = one;
}

// Wrong: on two warps. The producer arrives for the second step before others wait for the first.
KERNEL a_producer_ahead(const word *in, word *out)
{
    __shared__ word tile[2][32];
    word t = threadIdx.x;
    for (int step = 0; step < 4; step++) {
        if (t < 32) {
            tile[step % 2][t] = in[t] + step;
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            out[t] = tile[step % 2][63 - t];
        }
    }
}

// Wrong: any two of the four warps open the barrier.
KERNEL two_pairs_at_one_barrier(const word *in, word *out)
{
    __shared__ word tile[128];
    word t = threadIdx.x, pair = t / 64;
    tile[t] = in[t];
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[t] = tile[pair * 64 + 63 - t % 64];
}
