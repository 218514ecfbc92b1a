// compute: 8.0
//
// Attention, forward, in BF16 on the tensor cores: as `flash` in attention-memory.cu, but
// for heads of 128 numbers. A number of BF16 is the upper half of one of FP32.

typedef unsigned short u16;
typedef unsigned int u32;
#define INFINITY __int_as_float(0x7f800000)

// A loop that is unrolled, so that arrays which it indexes can be registers.
#define EACH(i, count) _Pragma("unroll") for (u32 i = 0; i < (count); i++)

extern "C" __global__ void widen(const u16 *in, float *out, size_t count)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = __uint_as_float((u32)in[i] << 16);
}

// Two numbers, rounded to BF16: the first in the lower half.
__device__ u32 pack(float first, float second)
{
    u32 both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
}

extern "C" __global__ void narrow(const float *in, u16 *out, size_t count)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = (u16)pack(in[i], 0);
}

// The instructions that C has no words for. A matrix of 8 × 8 numbers is spread over a
// warp: lane l holds numbers 2 (l % 4) and the next one of row l / 4.

// Starts a copy of 16 bytes to shared memory; without `there`, they become zero.
__device__ void copy(u16 *to, const u16 *from, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     (u32)__cvta_generic_to_shared(to)),
                 "l"(from), "r"(there ? 16 : 0)
                 : "memory");
}

// Ends a group of copies, and waits for all groups but the last YOUNGER.
__device__ void close_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <u32 YOUNGER> __device__ void wait_group()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(YOUNGER) : "memory");
}

// Loads four matrices, whose rows begin where lanes 0-7, 8-15, 16-23 and 24-31 say.
__device__ void load(u32 (&m)[4], const u16 *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"((u32)__cvta_generic_to_shared(row))
                 : "memory");
}

__device__ void load_transposed(u32 (&m)[4], const u16 *row)
{
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
        : "r"((u32)__cvta_generic_to_shared(row))
        : "memory");
}

// c += a b: 16 × 16 numbers, four matrices, times 16 × 8. Of the result, in FP32, a lane
// holds two neighbours of row l / 4, and two of row l / 4 + 8.
__device__ void multiply(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A block of four warps takes QUERIES rows of Q, 2 × 16 for each warp, and walks through
// K and V in tiles of KEYS rows.
const u32 HEAD = 128, QUERIES = 128, KEYS = 64, THREADS = 128;

// Where in a tile the 8 numbers from column 8 * eight on are. The exclusive or spreads
// the same place of 8 rows over all banks.
__device__ u32 place(u32 row, u32 eight) { return row * HEAD + (eight ^ row % 8) * 8; }

// Starts to copy `rows` rows of a matrix from row `first` on.
__device__ void fetch(u16 *tile, const u16 *from, u32 rows, u32 first, u32 n)
{
    for (u32 i = threadIdx.x; i < rows * HEAD / 8; i += THREADS) {
        u32 row = i / (HEAD / 8), eight = i % (HEAD / 8);
        bool there = first + row < n;
        size_t at = there ? (size_t)(first + row) * HEAD + 8 * eight : 0;
        copy(&tile[place(row, eight)], &from[at], there);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
flash(const u16 *q, const u16 *k, const u16 *v, u16 *out, u32 n, float scale,
      u32 causal)
{
    extern __shared__ __align__(128) u16 tiles[];
    u16 *qs = tiles, *ks = qs + QUERIES * HEAD, *vs = ks + KEYS * HEAD;
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32 * 32;
    size_t skip = (size_t)blockIdx.y * n * HEAD;
    // Under a causal mask, the last rows have the most to do: they start first.
    u32 top = (causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * QUERIES;
    u32 end = causal ? min(n, top + QUERIES) : n;
    scale *= 1.44269504f; // e^x is 2^(x log2 e), and 2^x is one instruction

    // Of each 16 rows, a lane has to do with two: l / 4 and l / 4 + 8.
    float most[2][2], sum[2][2] = {}, sums[2][HEAD / 8][4] = {};
    EACH(a, 2) EACH(h, 2) most[a][h] = -INFINITY;

    fetch(qs, q + skip, QUERIES, top, n);
    fetch(ks, k + skip, KEYS, 0, n);
    close_group();
    for (u32 first = 0; first < end; first += KEYS) {
        wait_group<0>();
        __syncthreads(); // K is there, and V of the turn before is used up
        fetch(vs, v + skip, KEYS, first, n);
        close_group();

        // 1. Scores, while V is in flight.
        float s[2][KEYS / 8][4] = {};
        EACH(d, HEAD / 16) {
            u32 queries[2][4], keys[4];
            EACH(a, 2) load(queries[a],
                            &qs[place(warp + 16 * a + lane % 16, 2 * d + lane / 16)]);
            EACH(c, KEYS / 16) {
                load(keys, &ks[place(16 * c + lane / 16 * 8 + lane % 8,
                                     2 * d + lane / 8 % 2)]);
                EACH(a, 2) {
                    multiply(s[a][2 * c], queries[a], keys[0], keys[1]);
                    multiply(s[a][2 * c + 1], queries[a], keys[2], keys[3]);
                }
            }
        }
        __syncthreads(); // K is used up
        if (first + KEYS < end)
            fetch(ks, k + skip, KEYS, first + KEYS, n);
        close_group();

        if (first + KEYS > n || (causal && first + KEYS > top))
            EACH(a, 2) EACH(c, KEYS / 8) EACH(e, 4) {
                u32 key = first + 8 * c + lane % 4 * 2 + e % 2;
                u32 row = top + warp + 16 * a + lane / 4 + e / 2 * 8;
                if (key >= n || (causal && key > row))
                    s[a][c][e] = -INFINITY;
            }

        // 2. to 4. The new maximum, which 4 lanes share; exponentials relative to it, in
        // BF16 for the tensor cores; what was summed before shrinks.
        u32 weights[2][KEYS / 8][2];
        EACH(a, 2) EACH(h, 2) {
            float before = most[a][h], m = before, part = 0;
            EACH(c, KEYS / 8) m = fmaxf(m, fmaxf(s[a][c][2 * h], s[a][c][2 * h + 1]));
            m = fmaxf(m, __shfl_xor_sync(~0u, m, 1));
            m = fmaxf(m, __shfl_xor_sync(~0u, m, 2));
            EACH(c, KEYS / 8) {
                float x = exp2f(s[a][c][2 * h] * scale - m * scale);
                float y = exp2f(s[a][c][2 * h + 1] * scale - m * scale);
                weights[a][c][h] = pack(x, y);
                part += x + y;
            }
            float shrink = exp2f((before - m) * scale);
            sum[a][h] = sum[a][h] * shrink + part;
            EACH(c, HEAD / 8) {
                sums[a][c][2 * h] *= shrink;
                sums[a][c][2 * h + 1] *= shrink;
            }
            most[a][h] = m;
        }

        // 5. Rows of V, weighted, while the next K is in flight. Two results of `multiply`
        // side by side lie in the lanes as its left factor has to.
        wait_group<1>();
        __syncthreads(); // V is there
        EACH(j, KEYS / 16) EACH(c, HEAD / 16) {
            u32 values[4];
            load_transposed(values,
                            &vs[place(16 * j + lane % 16, 2 * c + lane / 16)]);
            EACH(a, 2) {
                u32 left[4] = {weights[a][2 * j][0], weights[a][2 * j][1],
                               weights[a][2 * j + 1][0], weights[a][2 * j + 1][1]};
                multiply(sums[a][2 * c], left, values[0], values[1]);
                multiply(sums[a][2 * c + 1], left, values[2], values[3]);
            }
        }
    }

    EACH(a, 2) EACH(h, 2) {
        u32 row = top + warp + 16 * a + lane / 4 + 8 * h;
        float all = sum[a][h];
        all += __shfl_xor_sync(~0u, all, 1);
        all += __shfl_xor_sync(~0u, all, 2);
        float share = 1 / all;
        if (row < n)
            EACH(c, HEAD / 8)
                *(u32 *)&out[skip + (size_t)row * HEAD + 8 * c + lane % 4 * 2] =
                    pack(share * sums[a][c][2 * h], share * sums[a][c][2 * h + 1]);
    }
}
