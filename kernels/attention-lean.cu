// compute: 8.0
//
// Attention, forward, as `flash` in attention-tensor.cu, with fewer instructions around those of
// the tensor cores.

typedef unsigned short u16;
typedef unsigned int u32;
#define INFINITY __int_as_float(0x7f800000)

// A loop that is unrolled, so that arrays which it indexes can be registers.
#define EACH(i, count) _Pragma("unroll") for (u32 i = 0; i < (count); i++)

// Two numbers, rounded to BF16: the first in the lower half.
__device__ u32 pack(float first, float second)
{
    u32 both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
}

// 2^x; small results become zero.
__device__ float power_of_two(float x)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}

// The instructions that C has no words for. A matrix of 8 × 8 numbers is spread over a
// warp: lane l holds numbers 2 (l % 4) and the next one of row l / 4. Places in shared memory are
// numbers, so that one instruction computes an address.

// Starts a copy of 16 bytes to shared memory; without `there`, they become zero.
__device__ void copy(u32 to, const u16 *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

__device__ void copy(u32 to, const u16 *from, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 ::"r"(to), "l"(from), "r"(there ? 16 : 0) : "memory");
}

// Ends a group of copies, and waits for all of them.
__device__ void close_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
__device__ void wait_groups() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }

// Loads four matrices, whose rows begin where lanes 0-7, 8-15, 16-23 and 24-31 say.
__device__ void load(u32 (&m)[4], u32 row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "r"(row) : "memory");
}

__device__ void load_transposed(u32 (&m)[4], u32 row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "r"(row) : "memory");
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

// The same, but c = a b.
__device__ void multiply_first(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
                 : "=f"(c[0]), "=f"(c[1]), "=f"(c[2]), "=f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(0.0f));
}

// A block of four warps takes QUERIES rows of Q, 2 × 16 for each warp, and walks through
// K and V in tiles of KEYS rows. There is room for two tiles of each: the next ones are copied
// while these are multiplied.
const u32 HEAD = 128, QUERIES = 128, KEYS = 64, THREADS = 128;
const u32 ROW = HEAD * 2, TILE = KEYS * ROW; // bytes

// Starts to copy ROWS rows of a matrix from row `first` on: each thread 8 numbers of every
// eighth row. The exclusive or spreads the same place of 8 rows over all banks.
template <u32 ROWS> __device__ void fetch(u32 tile, const u16 *from, u32 first, u32 n)
{
    u32 row = threadIdx.x / 16, eight = threadIdx.x % 16;
    u32 to = tile + row * ROW + (eight ^ row % 8) * 16;
    const u16 *at = from + (size_t)(first + row) * HEAD + 8 * eight;
    if (first + ROWS <= n)
        EACH(i, ROWS / 8) copy(to + i * 8 * ROW, at + i * 8 * HEAD);
    else
        EACH(i, ROWS / 8) {
            bool there = first + row + 8 * i < n;
            copy(to + i * 8 * ROW, there ? at + i * 8 * HEAD : from, there);
        }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
flash(const u16 *q, const u16 *k, const u16 *v, u16 *out, u32 n, float scale,
      u32 causal)
{
    extern __shared__ __align__(1024) u16 tiles[];
    u32 qs = (u32)__cvta_generic_to_shared(tiles), ks = qs + QUERIES * ROW, vs = ks + TILE;
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32 * 32;
    size_t skip = (size_t)blockIdx.y * n * HEAD;
    q += skip, k += skip, v += skip, out += skip;
    // Under a causal mask, the last rows have the most to do: they start first.
    u32 top = (causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * QUERIES;
    u32 end = causal ? min(n, top + QUERIES) : n;
    scale *= 1.44269504f; // e^x is 2^(x log2 e), and 2^x is one instruction

    // Of each 16 rows, a lane has to do with two: l / 4 and l / 4 + 8.
    float most[2][2], sum[2][2] = {}, sums[2][HEAD / 8][4] = {};
    EACH(a, 2) EACH(h, 2) most[a][h] = -INFINITY;

    // Where this lane's rows begin. Eight rows or 16 further on, it is the same place in a row; and
    // 16 numbers further on is this place, exclusive or 32 bytes: so all of a tile is an addition
    // of a constant and an exclusive or away.
    u32 of_q = qs + (warp + lane % 16) * ROW + (lane / 16 ^ lane % 8) * 16;
    u32 of_k = ks + (lane / 16 * 8 + lane % 8) * ROW + (lane / 8 % 2 ^ lane % 8) * 16;
    u32 of_v = vs + lane % 16 * ROW + (lane / 16 ^ lane % 8) * 16;

    fetch<QUERIES>(qs, q, top, n);
    fetch<KEYS>(ks, k, 0, n);
    fetch<KEYS>(vs, v, 0, n);
    close_group();
    u32 now = 0; // or 2 TILE, for the other tile of K and that of V
    for (u32 first = 0; first < end; first += KEYS, now ^= 2 * TILE) {
        wait_groups();
        __syncthreads(); // these tiles are there, and those of the turn before are used up
        if (first + KEYS < end) {
            fetch<KEYS>(ks + (now ^ 2 * TILE), k, first + KEYS, n);
            fetch<KEYS>(vs + (now ^ 2 * TILE), v, first + KEYS, n);
        }
        close_group();

        // 1. Scores.
        float s[2][KEYS / 8][4];
        EACH(d, HEAD / 16) {
            u32 queries[2][4], keys[4];
            EACH(a, 2) load(queries[a], (of_q ^ 32 * d) + 16 * a * ROW);
            EACH(c, KEYS / 16) {
                load(keys, (of_k ^ 32 * d) + now + 16 * c * ROW);
                EACH(a, 2) {
                    if (d == 0) {
                        multiply_first(s[a][2 * c], queries[a], keys[0], keys[1]);
                        multiply_first(s[a][2 * c + 1], queries[a], keys[2], keys[3]);
                    } else {
                        multiply(s[a][2 * c], queries[a], keys[0], keys[1]);
                        multiply(s[a][2 * c + 1], queries[a], keys[2], keys[3]);
                    }
                }
            }
        }
        if (first + KEYS > n || (causal && first + KEYS > top))
            EACH(a, 2) EACH(c, KEYS / 8) EACH(e, 4) {
                u32 key = first + 8 * c + lane % 4 * 2 + e % 2;
                u32 row = top + warp + 16 * a + lane / 4 + e / 2 * 8;
                if (key >= n || (causal && key > row))
                    s[a][c][e] = -INFINITY;
            }

        // 2. The new maximum, which 4 lanes share. While exponentials relative to the old one are
        // at most 2^8, it stays: then nothing that was summed before has to shrink.
        float new_most[2][2];
        bool grows = false;
        EACH(a, 2) EACH(h, 2) {
            float m = most[a][h];
            EACH(c, KEYS / 8) m = fmaxf(m, fmaxf(s[a][c][2 * h], s[a][c][2 * h + 1]));
            m = fmaxf(m, __shfl_xor_sync(~0u, m, 1));
            new_most[a][h] = m = fmaxf(m, __shfl_xor_sync(~0u, m, 2));
            grows = grows || (m - most[a][h]) * scale > 8;
        }
        if (__any_sync(~0u, grows))
            EACH(a, 2) EACH(h, 2) {
                float shrink = power_of_two((most[a][h] - new_most[a][h]) * scale);
                most[a][h] = new_most[a][h];
                sum[a][h] *= shrink;
                EACH(c, HEAD / 8) {
                    sums[a][c][2 * h] *= shrink;
                    sums[a][c][2 * h + 1] *= shrink;
                }
            }

        // 3. and 4. Exponentials, in BF16 for the tensor cores, and their sum.
        u32 weights[2][KEYS / 8][2];
        EACH(a, 2) EACH(h, 2) {
            float part = 0, less = most[a][h] * scale;
            EACH(c, KEYS / 8) {
                float x = power_of_two(s[a][c][2 * h] * scale - less);
                float y = power_of_two(s[a][c][2 * h + 1] * scale - less);
                weights[a][c][h] = pack(x, y);
                part += x + y;
            }
            sum[a][h] += part;
        }

        // 5. Rows of V, weighted. Two results of `multiply` side by side lie in the lanes as
        // its left factor has to.
        EACH(j, KEYS / 16) EACH(c, HEAD / 16) {
            u32 values[4];
            load_transposed(values, (of_v ^ 32 * c) + now + 16 * j * ROW);
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
                *(u32 *)&out[(size_t)row * HEAD + 8 * c + lane % 4 * 2] =
                    pack(share * sums[a][c][2 * h], share * sums[a][c][2 * h + 1]);
    }
}
