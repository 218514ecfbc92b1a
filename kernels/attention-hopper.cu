// compute: 9.0a
//
// Attention, forward, in BF16, as `flash` in attention-tensor.cu, with Hopper's instructions:
// the copy unit brings the tiles, and four warps together give the tensor cores work.

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
#define INFINITY __int_as_float(0x7f800000)
// A loop that is unrolled, so that arrays which it indexes can be registers.
#define EACH(i, count) _Pragma("unroll") for (u32 i = 0; i < (count); i++)

struct __align__(64) TensorMap { u64 opaque[16]; };

__device__ u32 shared(const void *pointer) { return (u32)__cvta_generic_to_shared(pointer); }

// A barrier in shared memory that turns when so many have arrived, and `bytes` bytes if one
// expects them; and a wait for its `turn`, which is 0 and 1 in alternation.
template <int ARRIVALS> __device__ void prepare(u64 *barrier)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared(barrier)), "n"(ARRIVALS)
                 : "memory");
}

__device__ void expect(u64 *barrier, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared(barrier)),
                 "r"(bytes) : "memory");
}

__device__ void arrive(u64 *barrier)
{
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared(barrier)) : "memory");
}

__device__ void wait(u64 *barrier, u32 turn)
{
    asm volatile("{ .reg .pred open;\n"
                 "again: mbarrier.try_wait.parity.shared.b64 open, [%0], %1;\n"
                 "@!open bra again; }" ::"r"(shared(barrier)), "r"(turn) : "memory");
}

// A block of two times four warps, and four that copy, takes QUERIES rows of Q, 64 for each
// four warps, and walks through K and V in tiles of KEYS rows.
const u32 HEAD = 128, QUERIES = 128, KEYS = 128, PLACES = 2, TILE = KEYS * HEAD;

// A tile of 128 rows of one head, as two halves of 64 columns; zeros beyond the last row.
__device__ void load(u16 *to, const TensorMap *from, u32 row, u32 head, u64 *barrier)
{
    expect(barrier, TILE * 2);
    EACH(half, 2)
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
                     " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(shared(to + half * TILE / 2)),
                     "l"(from), "r"(64 * half), "r"(row), "r"(head), "r"(shared(barrier))
                     : "memory");
}

// Where a matrix lies in shared memory: rows of 128 bytes, swizzled as the copy unit does it,
// eight rows after eight, and the distance to the next 64 columns.
__device__ u64 place(const u16 *matrix, u32 to_next_columns)
{
    return (shared(matrix) & 0x3FFFF) >> 4 | (u64)(to_next_columns >> 4) << 16
        | 1024ull >> 4 << 32 | 1ull << 62;
}

#define FOUR(x, i) "+f"(x[i]), "+f"(x[i + 1]), "+f"(x[i + 2]), "+f"(x[i + 3])
#define SIXTEEN(x, i) FOUR(x, i), FOUR(x, i + 4), FOUR(x, i + 8), FOUR(x, i + 12)
#define ALL(x) SIXTEEN(x, 0), SIXTEEN(x, 16), SIXTEEN(x, 32), SIXTEEN(x, 48)
#define NAMES "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "        \
              "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, "     \
              "%31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "     \
              "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, "     \
              "%61, %62, %63}"

// 64 × 16 times 16 × 128, to or in place of 64 × 128 sums, of which a thread has 64. No
// thread waits for it yet. The left factor is in shared memory, or in registers.
__device__ void multiply(float (&sum)[64], u64 a, u64 b, bool add)
{
    asm volatile("{ .reg .pred add; setp.ne.b32 add, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " NAMES
                 ", %64, %65, add, 1, 1, 0, 0; }" : ALL(sum) : "l"(a), "l"(b), "r"((int)add));
}

__device__ void multiply(float (&sum)[64], const u32 *a, u64 b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " NAMES
                 ", {%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
                 : ALL(sum) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

__device__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int PENDING> __device__ void finish()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}
// Registers are in the tensor cores' hands: nothing is moved across.
__device__ void hold(float (&x)[64]) { EACH(i, 64) asm volatile("" : "+f"(x[i])::"memory"); }

__device__ u32 pack(float low, float high)
{
    u32 both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}
__device__ float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Of each 64 rows, a lane has to do with two, 8 apart: the largest score, the sum of the
// exponentials, and how much what was summed before has to shrink.
struct Rows { float most[2], sum[2], shrink[2]; };

// New maxima, which 4 lanes share, and exponentials relative to them.
__device__ void weigh(float (&s)[64], Rows &rows, float scale)
{
    EACH(h, 2) {
        float m = rows.most[h];
        EACH(c, 16) m = fmaxf(m, fmaxf(s[4 * c + 2 * h], s[4 * c + 2 * h + 1]));
        m = fmaxf(m, __shfl_xor_sync(~0u, m, 1));
        m = fmaxf(m, __shfl_xor_sync(~0u, m, 2));
        rows.shrink[h] = power_of_two((rows.most[h] - m) * scale);
        rows.most[h] = m;
        float part = 0, base = m * scale;
        EACH(c, 16) EACH(e, 2) {
            float &x = s[4 * c + 2 * h + e];
            x = power_of_two(x * scale - base);
            part += x;
        }
        rows.sum[h] = rows.sum[h] * rows.shrink[h] + part;
    }
}

__device__ void mask(float (&s)[64], u32 row, u32 first, u32 n, bool causal)
{
    EACH(i, 64) {
        u32 key = first + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
        if (key >= n || (causal && key > row + i % 4 / 2 * 8))
            s[i] = -INFINITY;
    }
}

// ANCHOR: flash
// One thread copies; the others multiply. While the tensor cores weigh the values of a tile,
// the same warps turn the next tile's scores into weights.
extern "C" __global__ void __launch_bounds__(384)
flash(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k,
      const __grid_constant__ TensorMap v, u16 *out, u32 n, float scale, u32 causal)
{
    extern __shared__ __align__(1024) u16 tiles[];
    __shared__ u64 queries, keys[PLACES], values[PLACES], keys_left[PLACES],
        values_left[PLACES];
    u16 *qs = tiles + (1024 - shared(tiles) % 1024) % 1024 / 2;
    u16 *ks = qs + TILE, *vs = ks + PLACES * TILE;
    u32 t = threadIdx.x, head = blockIdx.y;
    // Under a causal mask, the last rows have the most to do: they start first.
    u32 top = (causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * QUERIES;
    u32 count = ((causal ? min(n, top + QUERIES) : n) + KEYS - 1) / KEYS;
    if (t == 0) {
        prepare<1>(&queries);
        EACH(i, PLACES) {
            prepare<1>(&keys[i]), prepare<1>(&values[i]);
            prepare<2>(&keys_left[i]), prepare<2>(&values_left[i]);
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();

    if (t < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (t > 0)
            return;
        load(qs, &q, top, head, &queries);
        for (u32 i = 0; i < count; i++) {
            u32 at = i % PLACES, turn = i / PLACES % 2 ^ 1;
            wait(&keys_left[at], turn);
            load(ks + at * TILE, &k, i * KEYS, head, &keys[at]);
            wait(&values_left[at], turn);
            load(vs + at * TILE, &v, i * KEYS, head, &values[at]);
        }
        return;
    }

    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    u32 group = t / 128 - 1, row = top + 64 * group + t / 32 % 4 * 16 + t % 32 / 4;
    scale *= 1.44269504f; // e^x is 2^(x log2 e), and 2^x is one instruction
    float s[64], sums[64] = {};
    u32 weights[8][4];
    Rows rows = {{-INFINITY, -INFINITY}, {0, 0}};

    auto leave = [&](u64 *tile) { // one for each four warps
        if (t % 128 == 0)
            arrive(tile);
    };
    auto score = [&](u32 i) { // queues the scores of tile i
        wait(&keys[i % PLACES], i / PLACES % 2);
        hold(s);
        begin();
        EACH(d, 8)
            multiply(s, place(qs + d / 4 * TILE / 2 + group * 64 * 64 + d % 4 * 16, 16),
                     place(ks + i % PLACES * TILE + d / 4 * TILE / 2 + d % 4 * 16, 16),
                     d > 0);
        commit();
    };
    auto weigh_values = [&](u32 i) { // queues the weighted values of tile i
        wait(&values[i % PLACES], i / PLACES % 2);
        hold(sums);
        begin();
        EACH(j, 8)
            multiply(sums, weights[j],
                     place(vs + i % PLACES * TILE + j * 16 * 64, KEYS * 128));
        commit();
    };
    auto exponentials = [&](u32 i) { // when the scores of tile i are there
        hold(s);
        leave(&keys_left[i % PLACES]);
        if ((i + 1) * KEYS > n || (causal && (i + 1) * KEYS > top + 64 * group))
            mask(s, row, i * KEYS, n, causal);
        weigh(s, rows, scale);
    };
    // Results of one product lie in the lanes as the left factor of the next has to.
    auto take = [&] {
        EACH(j, 8) EACH(i, 4) weights[j][i] = pack(s[8 * j + 2 * i], s[8 * j + 2 * i + 1]);
    };

    // ANCHOR: overlap
    wait(&queries, 0);
    score(0);
    finish<0>();
    exponentials(0);
    take();
    for (u32 i = 1; i < count; i++) {
        score(i);
        weigh_values(i - 1);
        finish<1>(); // the scores
        exponentials(i);
        finish<0>(); // the values
        hold(sums);
        leave(&values_left[(i - 1) % PLACES]);
        EACH(c, 64) sums[c] *= rows.shrink[c % 4 / 2];
        take();
    }
    weigh_values(count - 1);
    finish<0>();
    hold(sums);
    // ANCHOR_END: overlap

    EACH(h, 2) {
        float all = rows.sum[h];
        all += __shfl_xor_sync(~0u, all, 1);
        all += __shfl_xor_sync(~0u, all, 2);
        float share = 1 / all;
        u16 *to = out + ((size_t)head * n + row + 8 * h) * HEAD + t % 4 * 2;
        if (row + 8 * h < n)
            EACH(c, 16)
                *(u32 *)&to[8 * c] = pack(share * sums[4 * c + 2 * h],
                                          share * sums[4 * c + 2 * h + 1]);
    }
}
// ANCHOR_END: flash
