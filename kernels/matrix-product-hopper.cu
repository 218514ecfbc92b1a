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

// A barrier in shared memory that turns when `bytes` bytes have arrived, and a wait for its
// `turn`, which is 0 and 1 in alternation.
__device__ void prepare(unsigned long long *barrier)
{
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared(barrier)) : "memory");
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
// thread has 128. Nobody waits for it yet.
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
            prepare(&barriers[i]);
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
