// A matrix-vector product y = W x. The weights W come in seven ways; everything else is the
// same. 16 bytes of a row are a *chunk* of N weights, which one thread loads at once. At the end
// are three more kernels for INT4, each with one change.

// The vector x has at most so many elements.
#define COLUMNS 4096
// A warp multiplies so many rows at once, so that it reads x once for all of them.
#define ROWS 4

// ANCHOR: formats
// Two ways to make a float of a stored weight. A *conversion* is an instruction of its own.
// *Bits* are put where a float has them: of 2^23 = 0x4B000000, the last 20 bits are free.
__device__ float half_to_float(unsigned int half)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)half));
    return value;
}

// A format has the number N of weights in a chunk, and weight k of a chunk's word as a
// float. With the whole numbers it is to be multiplied by 2^-place(k), and the scale.
struct Plain {
    static const bool SCALED = false;
    __device__ static unsigned int place(unsigned int) { return 0; }
};
struct Scaled {
    static const bool SCALED = true;
    __device__ static unsigned int place(unsigned int) { return 0; }
};

struct Fp32 : Plain {
    static const unsigned int N = 4;
    __device__ static float weight(unsigned int word, unsigned int)
    {
        return __uint_as_float(word);
    }
};
struct Fp16 : Plain {
    static const unsigned int N = 8;
    __device__ static float weight(unsigned int word, unsigned int k)
    {
        return half_to_float(word >> 16 * k);
    }
};
struct Bf16 : Plain { // the upper half of a float's bits
    static const unsigned int N = 8;
    __device__ static float weight(unsigned int word, unsigned int k)
    {
        return __uint_as_float(k == 0 ? word << 16 : word & 0xffff0000);
    }
};
struct Int8 : Scaled {
    static const unsigned int N = 16;
    __device__ static float weight(unsigned int word, unsigned int k)
    {
        return (float)(signed char)(word >> 8 * k);
    }
};
struct Int8Bits : Scaled { // a byte of the word under three of 2^23; it holds weight + 128
    static const unsigned int N = 16;
    __device__ static float weight(unsigned int word, unsigned int k)
    {
        unsigned int bits = __byte_perm(word ^ 0x80808080, 0x4B000000, 0x7440 + k);
        return __uint_as_float(bits) - 8388736.0f; // 2^23 + 128
    }
};
// ANCHOR: int4
struct Int4 : Scaled { // up, so that its sign is the word's; down again, which keeps it
    static const unsigned int N = 32;
    __device__ static float weight(unsigned int word, unsigned int k)
    {
        return (float)((int)(word << (28 - 4 * k)) >> 28);
    }
};
struct Int4Bits : Scaled { // stays where it is in the word, for five places of eight
    static const unsigned int N = 32;
    __device__ static unsigned int place(unsigned int k) { return 4 * k - (k < 5 ? 0 : 12); }
    __device__ static float weight(unsigned int word, unsigned int k)
    {
        unsigned int at = place(k), magic = 0x4B000000 | 8u << at;
        unsigned int bits; // (word & mask) ^ magic in one instruction
        asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(bits)
            : "r"(k < 5 ? word : word >> 12), "r"(15u << at), "r"(magic));
        return __uint_as_float(bits) - __uint_as_float(magic); // weight * 2^at
    }
};
// ANCHOR_END: int4
// ANCHOR_END: formats

// Four elements of x, as the weights of this format need them.
template <class Format>
__device__ float4 fitted(float4 x, unsigned int first)
{
    const unsigned int per_word = Format::N / 4;
    float factors[4];
    for (unsigned int k = 0; k < 4; k++) // 2^-place
        factors[k] = __uint_as_float((127 - Format::place((first + k) % per_word)) << 23);
    return {x.x * factors[0], x.y * factors[1], x.z * factors[2], x.w * factors[3]};
}

// ANCHOR: product
template <class Format>
__device__ void product(const uint4 *weights, const unsigned short *scales, const float4 *x,
                        float *y, unsigned int rows, unsigned int columns,
                        unsigned int group_bits)
{
    const unsigned int N = Format::N, FOURS = N / 4;
    unsigned int chunks = columns / N;
    unsigned int groups = ((columns - 1) >> group_bits) + 1;

    // x to shared memory, in such an order that the 32 lanes read neighbours below.
    __shared__ float4 vector[COLUMNS / 4];
    for (unsigned int i = threadIdx.x; i < columns / 4; i += blockDim.x)
        vector[i % FOURS * chunks + i / FOURS] = fitted<Format>(x[i], 4 * i);
    __syncthreads();

    unsigned int lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
    unsigned int first = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * ROWS;
    for (; first < rows; first += warps * ROWS) {
        float sums[ROWS] = {};
        for (unsigned int chunk = lane; chunk < chunks; chunk += 32) {
            uint4 loaded[ROWS];
            float scale[ROWS], part[ROWS] = {};
            for (int r = 0; r < ROWS; r++) { // past the end: the last row once more
                size_t row = min(first + r, rows - 1);
                loaded[r] = weights[row * chunks + chunk];
                if (Format::SCALED)
                    scale[r] = half_to_float(
                        scales[row * groups + (chunk * N >> group_bits)]);
            }
#pragma unroll
            for (unsigned int four = 0; four < FOURS; four++) {
                float4 x = vector[four * chunks + chunk];
                const float xs[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    const unsigned int words[4] = {loaded[r].x, loaded[r].y, loaded[r].z,
                                                   loaded[r].w};
#pragma unroll
                    for (unsigned int k = 0; k < 4; k++) {
                        unsigned int n = 4 * four + k; // of the chunk
                        part[r] += Format::weight(words[n / FOURS], n % FOURS) * xs[k];
                    }
                }
            }
            for (int r = 0; r < ROWS; r++)
                sums[r] += Format::SCALED ? scale[r] * part[r] : part[r];
        }
        for (int r = 0; r < ROWS; r++) {
            for (int step = 16; step > 0; step /= 2)
                sums[r] += __shfl_down_sync(0xffffffff, sums[r], step);
            if (lane == 0 && first + r < rows)
                y[first + r] = sums[r];
        }
    }
}
// ANCHOR_END: product

// Four blocks of a multiprocessor at once: registers for that.
#define PRODUCT(NAME, FORMAT)                                                             \
    extern "C" __global__ void __launch_bounds__(256, 4)                                  \
        NAME(const uint4 *weights, const unsigned short *scales, const float4 *x,         \
             float *y, unsigned int rows, unsigned int columns, unsigned int group_bits)  \
    {                                                                                     \
        product<FORMAT>(weights, scales, x, y, rows, columns, group_bits);                \
    }
PRODUCT(fp32, Fp32)
PRODUCT(fp16, Fp16)
PRODUCT(bf16, Bf16)
PRODUCT(int8, Int8)
PRODUCT(int8_bits, Int8Bits)
PRODUCT(int4, Int4)
PRODUCT(int4_bits, Int4Bits)

// ANCHOR: ahead
const unsigned int CHUNKS = COLUMNS / 32; // of the longest row
// A chunk of INT4 of each of four rows, and the scales.
struct Loaded {
    uint4 words[ROWS];
    unsigned short scales[ROWS];
};

// The same product of INT4 with one change: a warp asks for its next chunks before it multiplies
// these, so that the memory is never without work. `Way` puts x into shared memory, and has the
// products of a thread's chunks.
template <class Way>
__device__ void ahead(const uint4 *weights, const unsigned short *scales, const float4 *x,
                      float *y, unsigned int rows, unsigned int columns,
                      unsigned int group_bits)
{
    unsigned int chunks = columns / 32, groups = ((columns - 1) >> group_bits) + 1;
    Way way;
    for (unsigned int i = threadIdx.x; i < columns / 8; i += blockDim.x)
        way.keep(x[2 * i], x[2 * i + 1], i);
    __syncthreads();

    unsigned int lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
    unsigned int first = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * ROWS, begin = 0;
    auto load = [&](unsigned int first, unsigned int chunk) {
        Loaded loaded = {};
        for (int r = 0; r < ROWS && chunk < chunks; r++) { // past the end: the last row again
            unsigned int row = min(first + r, rows - 1);
            loaded.words[r] = weights[row * chunks + chunk];
            loaded.scales[r] = scales[row * groups + (chunk * 32 >> group_bits)];
        }
        return loaded;
    };
    Loaded now = load(first, lane);
    float sums[ROWS] = {};
    while (first < rows) {
        unsigned int next = begin + 32, next_first = first;
        if (next >= chunks)
            next = 0, next_first += warps * ROWS;
        Loaded loaded = load(next_first, next + lane);
        if (begin + lane < chunks)
            way.multiply(now, begin + lane, sums);
        if (next == 0)
            for (int r = 0; r < ROWS; r++) {
                for (int step = 16; step > 0; step /= 2)
                    sums[r] += __shfl_down_sync(0xffffffff, sums[r], step);
                if (lane == 0 && first + r < rows)
                    y[first + r] = sums[r];
                sums[r] = 0;
            }
        now = loaded, begin = next, first = next_first;
    }
}
// ANCHOR_END: ahead

#define AHEAD(NAME, WAY)                                                                  \
    extern "C" __global__ void __launch_bounds__(256, 4)                                  \
        NAME(const uint4 *weights, const unsigned short *scales, const float4 *x,         \
             float *y, unsigned int rows, unsigned int columns, unsigned int group_bits)  \
    {                                                                                     \
        ahead<WAY>(weights, scales, x, y, rows, columns, group_bits);                     \
    }

__device__ unsigned int word(uint4 words, unsigned int i)
{
    return i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w;
}

// Floats, as above. Eight elements of x belong to a word, i.
struct Floats {
    float4 *vector;
    __device__ Floats()
    {
        __shared__ float4 all[COLUMNS / 4];
        vector = all;
    }
    __device__ void keep(float4 x, float4 after, unsigned int i)
    {
        unsigned int at = i % 4 * 2 * CHUNKS + i / 4;
        vector[at] = fitted<Int4Bits>(x, 0);
        vector[at + CHUNKS] = fitted<Int4Bits>(after, 4);
    }
    __device__ void multiply(const Loaded &loaded, unsigned int chunk, float (&sums)[ROWS])
    {
        float part[ROWS] = {};
#pragma unroll
        for (unsigned int four = 0; four < 8; four++) {
            float4 x = vector[four * CHUNKS + chunk];
            const float xs[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (unsigned int k = 0; k < 4; k++)
                    part[r] += Int4Bits::weight(word(loaded.words[r], four / 2), four % 2 * 4 + k)
                        * xs[k];
        }
        for (int r = 0; r < ROWS; r++)
            sums[r] += half_to_float(loaded.scales[r]) * part[r];
    }
};
AHEAD(int4_ahead, Floats)

// ANCHOR: pairs
// Two floats as two halves of a word, and two halves added up as floats.
__device__ unsigned int halves(float low, float high)
{
    unsigned short a, b;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(a) : "f"(low));
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(b) : "f"(high));
    return a | (unsigned int)b << 16;
}

// Weights k and k + 4 of a word's eight, as two halves. Of 2^10 = 0x6400, the last 10 bits are
// free: one instruction puts a weight plus 8 into both halves, and one takes 2^10 and 8 off. At
// the higher place it is worth 16 times as much, which the same instruction makes good.
__device__ unsigned int two(unsigned int word, unsigned int k)
{
    bool higher = k % 2 == 1;
    unsigned int bits, mask = higher ? 0x00f000f0 : 0x000f000f, pair;
    asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(bits)
        : "r"(word >> k / 2 * 8), "r"(mask), "r"(higher ? 0x64806480 : 0x64086408));
    if (higher) // / 16 - 72
        asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(pair)
            : "r"(bits), "r"(0x2c002c00), "r"(0xd480d480));
    else // - 1032
        asm("add.rn.f16x2 %0, %1, %2;" : "=r"(pair) : "r"(bits), "r"(0xe408e408));
    return pair;
}

// Pairs of halves: an instruction multiplies two weights. What the 32 weights of a chunk add up
// to is a pair of halves as well.
struct Pairs {
    uint4 *vector;
    __device__ Pairs()
    {
        __shared__ uint4 all[COLUMNS / 8];
        vector = all;
    }
    __device__ void keep(float4 x, float4 after, unsigned int i)
    {
        vector[i % 4 * CHUNKS + i / 4] = {halves(x.x, after.x), halves(x.y, after.y),
                                          halves(x.z, after.z), halves(x.w, after.w)};
    }
    __device__ void multiply(const Loaded &loaded, unsigned int chunk, float (&sums)[ROWS])
    {
        unsigned int part[ROWS] = {};
#pragma unroll
        for (unsigned int w = 0; w < 4; w++) {
            uint4 x = vector[w * CHUNKS + chunk];
            const unsigned int xs[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
            for (int r = 0; r < ROWS; r++)
#pragma unroll
                for (unsigned int k = 0; k < 4; k++)
                    asm("fma.rn.f16x2 %0, %1, %2, %0;" : "+r"(part[r])
                        : "r"(two(word(loaded.words[r], w), k)), "r"(xs[k]));
        }
        for (int r = 0; r < ROWS; r++)
            sums[r] += half_to_float(loaded.scales[r])
                * (half_to_float(part[r]) + half_to_float(part[r] >> 16));
    }
};
// ANCHOR_END: pairs
AHEAD(int4_pairs, Pairs)

// Eight elements of x as pairs of halves, and what their rounding took off, times 2^11.
__device__ void split(float4 x, float4 after, uint4 *to)
{
    const float low[4] = {x.x, x.y, x.z, x.w}, high[4] = {after.x, after.y, after.z, after.w};
    unsigned int kept[4], lost[4];
    for (int k = 0; k < 4; k++) {
        kept[k] = halves(low[k], high[k]);
        lost[k] = halves((low[k] - half_to_float(kept[k])) * 2048,
                         (high[k] - half_to_float(kept[k] >> 16)) * 2048);
    }
    to[0] = {kept[0], kept[1], kept[2], kept[3]};
    to[1] = {lost[0], lost[1], lost[2], lost[3]};
}

__device__ void multiply(float (&sum)[4], unsigned int a, unsigned int below, unsigned int b)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a), "r"(below), "r"(b));
}

// ANCHOR: tensor
// On tensor cores: an instruction of a warp multiplies 16 rows x 8 weights by 8 x 8 numbers. Of
// these eight columns every second is x, rounded to halves, and the others are what the rounding
// took off, times 2^11: so nothing is lost. Lane 4 g + t has chunk t of four, in rows g, g + 8,
// g + 16 and g + 24, of which row g + 8 t is its to scale and to write. Four chunks are 128
// weights, so a group has at least as many; and there are at least 32 rows.
extern "C" __global__ void __launch_bounds__(256, 4)
    int4_tensor(const uint4 *weights, const unsigned short *scales, const float4 *x, float *y,
                unsigned int rows, unsigned int columns, unsigned int group_bits)
{
    __shared__ uint4 vector[2 * COLUMNS / 8];
    unsigned int chunks = columns / 32, groups = ((columns - 1) >> group_bits) + 1;
    for (unsigned int i = threadIdx.x; i < (chunks + 3) / 4 * 16; i += blockDim.x) {
        float4 zero = {};
        const float4 *from = i < columns / 8 ? &x[2 * i] : nullptr;
        split(from ? from[0] : zero, from ? from[1] : zero,
              &vector[(i % 4 * CHUNKS + i / 4) * 2]);
    }
    __syncthreads();

    unsigned int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    unsigned int all = gridDim.x * blockDim.x; // rows of all warps together
    unsigned int first = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 32, begin = 0;
    unsigned int next_first = first, next = 0;
    uint4 words[2][4];
    unsigned short scale[2];
    auto load = [&](int to) { // past the end: the last rows, or chunk, again
        unsigned int row = min(next_first, rows - 32) + g;
        const uint4 *from = weights + row * chunks + min(next + t, chunks - 1);
#pragma unroll
        for (int r = 0; r < 4; r++)
            words[to][r] = from[8 * r * chunks];
        scale[to] = scales[(row + 8 * t) * groups + (next * 32 >> group_bits)];
        next += 4;
        if (next >= chunks)
            next = 0, next_first += all;
    };
    load(0);
    load(1);
    float sum = 0;
    while (first < rows) {
#pragma unroll
        for (int now = 0; now < 2; now++) {
            float part[2][4] = {};
#pragma unroll
            for (int w = 0; w < 4; w++) {
                uint4 of_x = vector[(w * CHUNKS + begin + t) * 2 + g % 2];
                const unsigned int xs[4] = {of_x.x, of_x.y, of_x.z, of_x.w};
#pragma unroll
                for (int r = 0; r < 4; r += 2)
#pragma unroll
                    for (unsigned int k = 0; k < 4; k++)
                        multiply(part[r / 2], two(word(words[now][r], w), k),
                                 two(word(words[now][r + 1], w), k), xs[k]);
            }
            // Of a row's two sums, the second is 2^11 times what it is worth.
            const float *mine = part[t / 2];
            float kept = t % 2 ? mine[2] : mine[0], lost = t % 2 ? mine[3] : mine[1];
            sum += half_to_float(scale[now]) * (kept + lost / 2048);
            load(now);
            begin += 4;
            if (begin < chunks)
                continue;
            unsigned int row = min(first, rows - 32) + g + 8 * t;
            if (row >= first)
                y[row] = sum;
            sum = 0, begin = 0, first += all;
        }
    }
}
// ANCHOR_END: tensor
