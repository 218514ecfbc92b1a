// compute: 9.0a
//
// A product of square BF16 matrices as Hopper wants it: the copy unit brings the tiles, and
// four warps together give the tensor cores work that they fetch from shared memory themselves.

// ANCHOR: instructions
struct __align__(64) TensorMap { unsigned long long opaque[16]; };

__device__ unsigned int shared(const void *pointer)
{
    return (unsigned int)__cvta_generic_to_shared(pointer);
}

// A barrier in shared memory that turns when so many have arrived, and `bytes` bytes if one
// expects them; and a wait for its `turn`, which is 0 and 1 in alternation.
template <int ARRIVALS> __device__ void prepare(unsigned long long *barrier)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;"
                 ::"r"(shared(barrier)), "n"(ARRIVALS) : "memory");
}

__device__ void expect(unsigned long long *barrier, unsigned int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"
                 ::"r"(shared(barrier)), "r"(bytes) : "memory");
}

__device__ void wait(unsigned long long *barrier, unsigned int turn)
{
    asm volatile("{ .reg .pred open;\n"
                 "again: mbarrier.try_wait.parity.shared.b64 open, [%0], %1;\n"
                 "@!open bra again; }" ::"r"(shared(barrier)), "r"(turn) : "memory");
}

// 64 elements of each row of a tile, from column x, row y of the matrix on; zeros beyond it.
__device__ void load(void *to, const TensorMap *from, unsigned int x, unsigned int y,
                     unsigned long long *barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(shared(to)), "l"(from), "r"(x), "r"(y), "r"(shared(barrier))
                 : "memory");
}

// Where a matrix lies in shared memory: rows of 128 bytes, swizzled as the copy unit does it,
// eight rows after eight, and the distance to the next 64 columns.
__device__ unsigned long long place(const void *matrix, unsigned int to_next_columns)
{
    return (shared(matrix) & 0x3FFFF) >> 4 | (unsigned long long)(to_next_columns >> 4) << 16
        | 1024ull >> 4 << 32 | 1ull << 62;
}

#define FOUR(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)

// One instruction of four warps: 64 × 16 times 16 × 256, added to 64 × 256 sums, of which each
// thread has 128. No thread waits for it yet.
__device__ void multiply(float (&sum)[128], unsigned long long a, unsigned long long b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
                 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
                 "%128, %129, 1, 1, 1, 0, 1;"
                 : SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48), SIXTEEN(64), SIXTEEN(80),
                   SIXTEEN(96), SIXTEEN(112)
                 : "l"(a), "l"(b));
}

// The sums are in the tensor cores' hands from `begin` on; what was asked for up to `commit`
// is a group, and `finish` waits until all but the newest PENDING groups are done.
__device__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <int PENDING> __device__ void finish()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

__device__ unsigned int rounded(float low, float high)
{
    unsigned int both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}
// ANCHOR_END: instructions

// ANCHOR: warpgroups
// A block of two times four warps computes 128 × 256 elements. The tiles, 128 × 64 of a and
// 64 × 256 of b, are in dynamic shared memory, with room for three of each, from a multiple of
// 1,024 bytes on. Rows begin at multiples of 16 bytes, so `n` is a multiple of 8.
const int TILES = 3, OF_A = 128 * 64, OF_B = 64 * 256;

extern "C" __global__ __launch_bounds__(256) void warpgroups(
    const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
    unsigned short *c, unsigned int n)
{
    extern __shared__ __align__(1024) unsigned short tiles[];
    __shared__ unsigned long long barriers[TILES];
    unsigned short *tile_a = tiles + (1024 - shared(tiles) % 1024) % 1024 / 2;
    unsigned short *tile_b = tile_a + TILES * OF_A;
    unsigned int t = threadIdx.x, group = t / 128, warp = t / 32 % 4, lane = t % 32;
    // Eight rows of tiles at a time, for the L2 cache.
    unsigned int block = blockIdx.y * gridDim.x + blockIdx.x, band = block / (8 * gridDim.x);
    unsigned int rows = min(8, gridDim.y - 8 * band), along = block - 8 * band * gridDim.x;
    unsigned int first_x = along / rows * 256, first_y = (8 * band + along % rows) * 128;

    auto copy = [&](int to, unsigned int left) {
        expect(&barriers[to], (OF_A + OF_B) * 2);
        load(&tile_a[to * OF_A], &a, left, first_y, &barriers[to]);
        for (int i = 0; i < 4; i++)
            load(&tile_b[to * OF_B + i * 64 * 64], &b, first_x + 64 * i, left, &barriers[to]);
    };
    if (t == 0) {
        for (int i = 0; i < TILES; i++)
            prepare<1>(&barriers[i]);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        for (int i = 0; i < TILES; i++)
            if (64 * i < n)
                copy(i, 64 * i);
    }
    __syncthreads();

    float sum[128];
#pragma unroll
    for (int i = 0; i < 128; i++)
        sum[i] = 0;
    int now = 0, turn = 0;
    for (unsigned int left = 0; left < n; left += 64) {
        wait(&barriers[now], turn);
        begin();
#pragma unroll
        for (int k = 0; k < 4; k++)
            multiply(sum, place(&tile_a[now * OF_A + group * 64 * 64 + 16 * k], 16),
                     place(&tile_b[now * OF_B + 16 * k * 64], 64 * 128));
        commit();
        // While that runs: the products before it are done, so their tiles are free.
        finish<1>();
        __syncthreads();
        unsigned int next = left + 64 * (TILES - 1);
        if (t == 0 && left > 0 && next < n)
            copy(now == 0 ? TILES - 1 : now - 1, next);
        if (++now == TILES) {
            now = 0;
            turn ^= 1;
        }
    }
    finish<0>();
#pragma unroll
    for (int i = 0; i < 128; i += 2) {
        unsigned int y = first_y + 64 * group + 16 * warp + lane / 4 + i % 4 / 2 * 8;
        unsigned int x = first_x + i / 4 * 8 + lane % 4 * 2;
        if (x < n && y < n)
            *(unsigned int *)&c[(size_t)y * n + x] = rounded(sum[i], sum[i + 1]);
    }
}
// ANCHOR_END: warpgroups

// ANCHOR: cluster
// Blocks of a *cluster* run side by side, and reach each other's shared memory. A copy can have
// the same place in two of them, and counts at the barrier of each.
__device__ void load_for_both(void *to, const TensorMap *from, unsigned int x, unsigned int y,
                              unsigned long long *barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
                 ::"r"(shared(to)), "l"(from), "r"(x), "r"(y), "r"(shared(barrier)),
                   "h"((unsigned short)3) : "memory");
}

__device__ void arrive_in(unsigned int block, unsigned long long *barrier)
{
    asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there]; }"
                 ::"r"(shared(barrier)), "r"(block) : "memory");
}

__device__ void wait_for_cluster()
{
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}
// ANCHOR_END: cluster

// ANCHOR: trade
// Four lanes have two neighbours of each of four times eight columns; after this each has eight
// neighbours, 16 bytes.
__device__ void trade(unsigned int (&pairs)[4], unsigned int lane)
{
#pragma unroll
    for (int step = 1; step < 4; step *= 2)
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (!(i & step)) {
                unsigned int given = lane & step ? pairs[i] : pairs[i + step];
                unsigned int taken = __shfl_xor_sync(0xffffffff, given, step);
                if (lane & step)
                    pairs[i] = taken;
                else
                    pairs[i + step] = taken;
            }
}
// ANCHOR_END: trade

// Writes a thread's sums, of which the first is element (x, y).
template <bool WIDE>
__device__ void write(const float (&sum)[128], unsigned short *c, unsigned int n,
                      unsigned int x, unsigned int y)
{
    unsigned int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 128; i += 16)
#pragma unroll
        for (int below = 0; below < 2; below++) {
            unsigned int pairs[4], row = y + 8 * below + lane / 4;
#pragma unroll
            for (int k = 0; k < 4; k++)
                pairs[k] = rounded(sum[i + 4 * k + 2 * below], sum[i + 4 * k + 2 * below + 1]);
            if (WIDE) {
                trade(pairs, lane);
                unsigned int column = x + 2 * i + lane % 4 * 8;
                if (column < n && row < n)
                    *(uint4 *)&c[(size_t)row * n + column]
                        = {pairs[0], pairs[1], pairs[2], pairs[3]};
                continue;
            }
#pragma unroll
            for (int k = 0; k < 4; k++) {
                unsigned int column = x + 2 * i + 8 * k + lane % 4 * 2;
                if (column < n && row < n)
                    *(unsigned int *)&c[(size_t)row * n + column] = pairs[k];
            }
        }
}

// Tile number `tile` of a grid of which BLOCKS, one above the other, are a cluster's: sixteen
// rows of tiles at a time, for the L2 cache.
template <int BLOCKS>
__device__ void find(unsigned int tile, unsigned int n, unsigned int &x, unsigned int &y)
{
    const unsigned int HIGH = 16 / BLOCKS;
    unsigned int across = (n + 255) / 256, down = (n + 128 * BLOCKS - 1) / (128 * BLOCKS);
    unsigned int band = tile / (HIGH * across), rows = min(HIGH, down - HIGH * band);
    unsigned int along = tile - HIGH * band * across;
    x = along / rows * 256;
    y = ((HIGH * band + along % rows) * BLOCKS + blockIdx.x % BLOCKS) * 128;
}

// ANCHOR: roles
// As above, with roles: a thread of the first four warps copies, the others multiply, and
// no thread waits for all. A place for tiles is *full* when its bytes have arrived, and
// *empty* when all that multiply have left it. Blocks go on with another tile, whose copies
// are under way while this one is written. Of a cluster of two, each copies half of b's tile.
const int PLACES = 4;

template <bool WIDE, int BLOCKS>
__device__ void roles(const TensorMap &a, const TensorMap &b, unsigned short *c, unsigned int n)
{
    extern __shared__ __align__(1024) unsigned short tiles[];
    __shared__ unsigned long long full[PLACES], empty[PLACES];
    unsigned short *tile_a = tiles + (1024 - shared(tiles) % 1024) % 1024 / 2;
    unsigned short *tile_b = tile_a + PLACES * OF_A;
    unsigned int t = threadIdx.x, cluster = blockIdx.x / BLOCKS, clusters = gridDim.x / BLOCKS;
    unsigned int all = (n + 255) / 256 * ((n + 128 * BLOCKS - 1) / (128 * BLOCKS));
    if (t == 0) {
        for (int i = 0; i < PLACES; i++) {
            prepare<1>(&full[i]);
            prepare<2 * BLOCKS>(&empty[i]);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    wait_for_cluster();
    unsigned int x, y, now = 0, turn = 0;
    auto advance = [&] { turn ^= now == PLACES - 1, now = (now + 1) % PLACES; };
    // ANCHOR: both_roles
    if (t < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        for (unsigned int tile = cluster; t == 0 && tile < all; tile += clusters) {
            find<BLOCKS>(tile, n, x, y);
            for (unsigned int left = 0; left < n; left += 64, advance()) {
                wait(&empty[now], turn ^ 1);
                expect(&full[now], (OF_A + OF_B) * 2);
                load(&tile_a[now * OF_A], &a, left, y, &full[now]);
                unsigned int mine = blockIdx.x % BLOCKS * 2;
                for (unsigned int i = mine; i < mine + 4 / BLOCKS; i++) {
                    auto *to = &tile_b[now * OF_B + i * 64 * 64];
                    if (BLOCKS == 1)
                        load(to, &b, x + 64 * i, left, &full[now]);
                    else
                        load_for_both(to, &b, x + 64 * i, left, &full[now]);
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        auto leave = [&](unsigned int place) {
            if (t % 128 < BLOCKS)
                arrive_in(t % 128, &empty[place]);
        };
        unsigned int group = t / 128 - 1, before;
        float sum[128];
        for (unsigned int tile = cluster; tile < all; tile += clusters) {
            find<BLOCKS>(tile, n, x, y);
#pragma unroll
            for (int i = 0; i < 128; i++)
                sum[i] = 0;
            for (unsigned int left = 0; left < n; left += 64, advance()) {
                wait(&full[now], turn);
                begin();
#pragma unroll
                for (int k = 0; k < 4; k++)
                    multiply(sum, place(&tile_a[now * OF_A + group * 64 * 64 + 16 * k], 16),
                             place(&tile_b[now * OF_B + 16 * k * 64], 64 * 128));
                commit();
                finish<1>(); // the products before these
                if (left > 0)
                    leave(before);
                before = now;
            }
            finish<0>();
            leave(before);
            write<WIDE>(sum, c, n, x, y + 64 * group + t / 32 % 4 * 16);
        }
    }
    // ANCHOR_END: both_roles
    wait_for_cluster(); // no block's shared memory goes while the other counts on it
}
// ANCHOR_END: roles

#define ROLES(NAME, WIDE, BLOCKS)                                                         \
    extern "C" __global__ __cluster_dims__(BLOCKS) __launch_bounds__(384) void NAME(      \
        const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,         \
        unsigned short *c, unsigned int n)                                                \
    {                                                                                     \
        roles<WIDE, BLOCKS>(a, b, c, n);                                                  \
    }
ROLES(producer, false, 1)
ROLES(wide_stores, true, 1)
ROLES(pairs, true, 2)

// ANCHOR: clocked
// Pairs of blocks, with the narrow stores, in which the first thread notes two clocks when it
// begins and when its block is done: the cycles of its multiprocessor, and nanoseconds. So the
// two differences say how fast that multiprocessor was while it multiplied.
__device__ void note(unsigned long long *clocks)
{
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds)::"memory");
    clocks[0] = clock64();
    clocks[1] = nanoseconds;
}

extern "C" __global__ __cluster_dims__(2) __launch_bounds__(384) void pairs_clocked(
    const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
    unsigned short *c, unsigned int n, unsigned long long *clocks, unsigned int launch)
{
    bool notes = blockIdx.x == 0 && threadIdx.x == 0;
    if (notes)
        note(clocks + 4 * launch);
    roles<false, 2>(a, b, c, n);
    if (notes)
        note(clocks + 4 * launch + 2);
}
// ANCHOR_END: clocked
