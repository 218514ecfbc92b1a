// Attention, forward, in FP32: out = softmax(scale · Q Kᵀ) V, for each head by itself.
// Q, K, V and the output are `n` rows of `head` floats, one head after the other. With
// `causal`, a row sees no key after itself.

typedef unsigned int u32;
#define INFINITY __int_as_float(0x7f800000)

// Numbers from -1 to 1 that differ from place to place: a hash of place and seed.
__device__ float number(size_t place, u32 seed)
{
    u32 x = (u32)place * 2654435761u + seed;
    x = (x ^ x >> 15) * 0x2c1b3c6du;
    x = (x ^ x >> 12) * 0x297a2d39u;
    return (int)(x ^ x >> 15) / 2147483648.0f;
}

extern "C" __global__ void fill(float *out, size_t count, u32 seed)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = number(i, seed);
}

// C = scale · A B, by blocks of 16 × 16 threads, each with 4 × 4 elements of a tile of
// 64 × 64. A has `rows` rows of `depth` floats. B has `depth` rows of `columns`; or it is
// given TRANSPOSED, `columns` rows of `depth`, and then C is masked if `causal`.
const u32 SIDE = 64, STEP = 16;

template <bool TRANSPOSED>
__device__ void product(const float *a, const float *b, float *c, u32 rows,
                        u32 columns, u32 depth, float scale, bool causal)
{
    __shared__ float as[STEP][SIDE + 4], bs[STEP][SIDE + 4];
    u32 tx = threadIdx.x, ty = threadIdx.y, thread = ty * 16 + tx;
    u32 left = blockIdx.x * SIDE, top = blockIdx.y * SIDE;

    float sums[4][4] = {};
    for (u32 k = 0; k < depth; k += STEP) {
        for (u32 i = thread; i < SIDE * STEP; i += 256) {
            // Neighbouring threads read neighbours: along `depth`, or along `columns`.
            u32 along = i % STEP, row = i / STEP;
            bool in = top + row < rows && k + along < depth;
            as[along][row] = in ? a[(size_t)(top + row) * depth + k + along] : 0;
            u32 x = TRANSPOSED ? i / STEP : i % SIDE;
            u32 y = TRANSPOSED ? i % STEP : i / SIDE;
            size_t place = TRANSPOSED ? (size_t)(left + x) * depth + k + y
                                      : (size_t)(k + y) * columns + left + x;
            in = left + x < columns && k + y < depth;
            bs[y][x] = in ? b[place] : 0;
        }
        __syncthreads();
        for (u32 d = 0; d < STEP; d++) {
            float4 u = *(const float4 *)&as[d][4 * ty];
            float4 v = *(const float4 *)&bs[d][4 * tx];
            float us[4] = {u.x, u.y, u.z, u.w}, vs[4] = {v.x, v.y, v.z, v.w};
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sums[i][j] += us[i] * vs[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            u32 row = top + 4 * ty + i, column = left + 4 * tx + j;
            bool hidden = causal && column > row;
            if (row < rows && column < columns)
                c[(size_t)row * columns + column] =
                    hidden ? -INFINITY : scale * sums[i][j];
        }
}

// ANCHOR: naive
// Three kernels, with all n × n scores of a head in memory between them.
extern "C" __global__ void scores(const float *q, const float *k, float *scores, u32 n,
                                  u32 head, float scale, u32 causal)
{
    size_t skip = (size_t)blockIdx.z * n;
    product<true>(q + skip * head, k + skip * head, scores + skip * n, n, n, head,
                  scale, causal);
}

// A block for each row, in place: its maximum, the sum of its exponentials, the shares.
extern "C" __global__ void softmax(float *scores, u32 n)
{
    __shared__ float parts[8];
    float *row = scores + (size_t)blockIdx.x * n;
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    float most = -INFINITY, sum = 0;
    for (u32 j = threadIdx.x; j < n; j += 256)
        most = fmaxf(most, row[j]);
    for (int step = 16; step > 0; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    if (lane == 0)
        parts[warp] = most;
    __syncthreads();
    for (int i = 0; i < 8; i++)
        most = fmaxf(most, parts[i]);
    __syncthreads();

    for (u32 j = threadIdx.x; j < n; j += 256)
        sum += expf(row[j] - most);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (lane == 0)
        parts[warp] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < 8; i++)
        sum += parts[i];

    for (u32 j = threadIdx.x; j < n; j += 256)
        row[j] = expf(row[j] - most) / sum;
}

extern "C" __global__ void weighted_sum(const float *weights, const float *v,
                                        float *out, u32 n, u32 head)
{
    size_t skip = (size_t)blockIdx.z * n;
    product<false>(weights + skip * n, v + skip * head, out + skip * head, n, head, n,
                   1, false);
}
// ANCHOR_END: naive

// One kernel. A block takes QUERIES rows of Q, and walks through K and V in tiles of
// KEYS rows. Of a thread's 4 rows and 4 keys, and 4 rows and 8 columns of the output,
// neighbours are with other threads, so that no two meet in a bank of shared memory.
const u32 HEAD = 64, QUERIES = 64, KEYS = 32, THREADS = 128;

// A tile of ROWS rows from row `first` on; rows past the end are zero.
template <u32 ROWS, u32 PITCH>
__device__ void fetch(float (&tile)[ROWS][PITCH], const float *from, u32 first, u32 n)
{
    for (u32 i = threadIdx.x; i < ROWS * HEAD / 4; i += THREADS) {
        u32 row = i / (HEAD / 4), column = i % (HEAD / 4) * 4;
        float4 four = {};
        if (first + row < n)
            four = *(const float4 *)&from[(size_t)(first + row) * HEAD + column];
        *(float4 *)&tile[row][column] = four;
    }
}

__device__ float dot(float4 u, float4 v)
{
    return u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
}

// to + factor · v
__device__ float4 plus(float4 to, float factor, float4 v)
{
    return make_float4(to.x + factor * v.x, to.y + factor * v.y, to.z + factor * v.z,
                       to.w + factor * v.w);
}

extern "C" __global__ void __launch_bounds__(THREADS)
flash(const float *q, const float *k, const float *v, float *out, u32 n, float scale,
      u32 causal)
{
    __shared__ float qs[QUERIES][HEAD + 4], ks[KEYS][HEAD + 4], vs[KEYS][HEAD];
    __shared__ float weights[QUERIES][KEYS + 8];
    size_t skip = (size_t)blockIdx.y * n * HEAD;
    u32 top = blockIdx.x * QUERIES, x = threadIdx.x % 8, y = threadIdx.x / 8;
    u32 end = causal ? min(n, top + QUERIES) : n;
    fetch(qs, q + skip, top, n);

    // ANCHOR: flash
    // What is kept of each of the thread's rows: the largest score so far, the sum of
    // exponentials relative to it, and the sum of rows of V weighted by them.
    float most[4], sum[4] = {};
    float4 sums[4][2] = {};
    for (int i = 0; i < 4; i++)
        most[i] = -INFINITY;

    for (u32 first = 0; first < end; first += KEYS) {
        __syncthreads(); // the tiles before are used up
        fetch(ks, k + skip, first, n);
        fetch(vs, v + skip, first, n);
        __syncthreads();

        // 1. Scores of 4 rows and 4 keys, which exist only in registers.
        float s[4][4] = {};
        for (u32 d = 0; d < HEAD; d += 4) {
            float4 key[4];
            for (int j = 0; j < 4; j++)
                key[j] = *(const float4 *)&ks[x + 8 * j][d];
            for (int i = 0; i < 4; i++) {
                float4 query = *(const float4 *)&qs[y + 16 * i][d];
                for (int j = 0; j < 4; j++)
                    s[i][j] += dot(query, key[j]);
            }
        }

        for (int i = 0; i < 4; i++) {
            // 2. A new maximum of the row, which 8 lanes share.
            u32 row = top + y + 16 * i;
            float before = most[i], part = 0;
            for (int j = 0; j < 4; j++) {
                u32 key = first + x + 8 * j;
                bool hidden = key >= n || (causal && key > row);
                s[i][j] = hidden ? -INFINITY : scale * s[i][j];
                most[i] = fmaxf(most[i], s[i][j]);
            }
            for (int lane = 1; lane < 8; lane *= 2)
                most[i] = fmaxf(most[i], __shfl_xor_sync(~0u, most[i], lane));

            // ANCHOR: online
            // 3. Exponentials relative to it.
            for (int j = 0; j < 4; j++) {
                float weight = expf(s[i][j] - most[i]);
                weights[y + 16 * i][x + 8 * j] = weight;
                part += weight;
            }

            // 4. What was summed relative to the old maximum shrinks.
            float shrink = expf(before - most[i]);
            sum[i] = sum[i] * shrink + part;
            for (int h = 0; h < 2; h++)
                sums[i][h] = plus({}, shrink, sums[i][h]);
            // ANCHOR_END: online
        }
        __syncwarp(); // a row's weights come from lanes of the same warp

        // 5. And this tile's rows of V are added.
        for (u32 j = 0; j < KEYS; j++)
            for (int h = 0; h < 2; h++) {
                float4 value = *(const float4 *)&vs[j][4 * x + 32 * h];
                for (int i = 0; i < 4; i++)
                    sums[i][h] = plus(sums[i][h], weights[y + 16 * i][j], value);
            }
    }
    // ANCHOR_END: flash

    for (int i = 0; i < 4; i++) {
        u32 row = top + y + 16 * i;
        for (int lane = 1; lane < 8; lane *= 2)
            sum[i] += __shfl_xor_sync(~0u, sum[i], lane);
        for (int h = 0; h < 2; h++)
            if (row < n)
                *(float4 *)&out[skip + (size_t)row * HEAD + 4 * x + 32 * h] =
                    plus({}, 1 / sum[i], sums[i][h]);
    }
}

// Counts elements that differ too much, or are no numbers. An element is a mean of as many
// numbers as its row sees keys, and about as large as one over the square root of that.
extern "C" __global__ void differ(const float *a, const float *b, size_t count, u32 n,
                                  u32 head, u32 causal, float bound, u32 *wrong)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    u32 keys = causal ? (u32)(i / head % n) + 1 : n;
    if (i < count && !(fabsf(a[i] - b[i]) <= bound * rsqrtf(keys)))
        atomicAdd(wrong, 1);
}
