// A matrix-vector product y = W x. The weights W come in seven ways; everything else is the
// same. 16 bytes of a row are a *chunk* of N weights, which one thread loads at once.

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
