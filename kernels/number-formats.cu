// Numbers in fewer bits, by integer arithmetic alone: it runs on every GPU, and shows
// what the conversion instructions of newer ones do (number-formats-instructions.cu).

struct Format {
    unsigned exponent_bits, fraction_bits;
    unsigned largest; // bit pattern of the largest finite number
    unsigned beyond;  // of what is larger: infinity, or the largest number again
};

// ANCHOR: rounded
// Drops so many low bits, and rounds to the nearest. It adds one less than half of what is
// dropped, and the last bit that stays: so on a tie an odd number goes up, an even one down.
__device__ __forceinline__ unsigned rounded(unsigned x, unsigned dropped)
{
    return (x + (1u << (dropped - 1)) - 1 + (x >> dropped & 1)) >> dropped;
}
// ANCHOR_END: rounded

// ANCHOR: encode
// The bit pattern of the format's number that is nearest to a float's.
__device__ __forceinline__ unsigned encode(unsigned x, Format f)
{
    unsigned sign_bit = 1u << (f.exponent_bits + f.fraction_bits);
    unsigned size = x & 0x7fffffff, pattern;
    if (size > 0x7f800000)
        return sign_bit - 1; // not a number
    // Exponents count from here on, a float's from 127.
    unsigned bias = (1u << (f.exponent_bits - 1)) - 1;
    unsigned smallest = 128 - bias; // of its smallest normal number, as a float's
    unsigned exponent = size >> 23, dropped = 23 - f.fraction_bits;
    if (exponent >= smallest || f.exponent_bits == 8) {
        // A carry out of the fraction raises the exponent: just what it should do.
        pattern = rounded(size - ((127 - bias) << 23), dropped);
    } else {
        // Subnormal: the step stays that of the smallest normal number, so more bits
        // are dropped, and the leading 1 is written out.
        dropped = min(dropped + smallest - exponent, 25);
        pattern = rounded(size & 0x7fffff | 0x800000, dropped);
    }
    return (x >> 31) * sign_bit | (pattern > f.largest ? f.beyond : pattern);
}
// ANCHOR_END: encode

// ANCHOR: decode
// The float that a bit pattern stands for; there always is one.
__device__ __forceinline__ float decode(unsigned pattern, Format f)
{
    unsigned sign_bit = 1u << (f.exponent_bits + f.fraction_bits);
    unsigned size = pattern & sign_bit - 1, sign = pattern & sign_bit ? 1u << 31 : 0;
    unsigned infinity = sign_bit - (1u << f.fraction_bits);
    if (size > f.largest)
        return __uint_as_float(size == infinity ? sign | 0x7f800000 : 0x7fffffff);
    // In a float's places the exponent is too small by 127 - bias: a factor, for
    // subnormal numbers as well.
    unsigned bias = (1u << (f.exponent_bits - 1)) - 1;
    float factor = __uint_as_float((254 - bias) << 23);
    return __uint_as_float(sign | size << (23 - f.fraction_bits)) * factor;
}

// What is left of a float in the format. The sum of two numbers of the format is rounded
// twice then, first to a float; that is the same as once, for a float's fraction has
// more than twice as many bits.
__device__ __forceinline__ float kept(float x, Format f)
{
    return f.fraction_bits == 23 ? x : decode(encode(__float_as_uint(x), f), f);
}
// ANCHOR_END: decode

// ANCHOR: sum
// Each thread adds up numbers of its own, each sum rounded to the format.
extern "C" __global__ void naive(const float *numbers, float *sums, unsigned threads,
                                 unsigned terms, Format f)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= threads)
        return;
    float sum = 0;
    for (unsigned k = 0; k < terms; k++)
        sum = kept(sum + numbers[(size_t)k * threads + t], f);
    sums[t] = sum;
}
// ANCHOR_END: sum

// ANCHOR: sums
// In a float, rounded once at the end.
extern "C" __global__ void wide(const float *numbers, float *sums, unsigned threads,
                                unsigned terms, Format f)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= threads)
        return;
    float sum = 0;
    for (unsigned k = 0; k < terms; k++)
        sum += numbers[(size_t)k * threads + t];
    sums[t] = kept(sum, f);
}

// Subtracts from the next number what each sum has too much (Kahan, 1965).
extern "C" __global__ void kahan(const float *numbers, float *sums, unsigned threads,
                                 unsigned terms, Format f)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= threads)
        return;
    float sum = 0, too_much = 0;
    for (unsigned k = 0; k < terms; k++) {
        float number = kept(numbers[(size_t)k * threads + t] - too_much, f);
        float next = kept(sum + number, f);
        too_much = kept(kept(next - sum, f) - number, f);
        sum = next;
    }
    sums[t] = sum;
}

// Pairwise: adds the second half of the numbers to the first. Launched again and again,
// until one is left.
extern "C" __global__ void fold(float *numbers, size_t half, Format f)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < half)
        numbers[i] = kept(numbers[i] + numbers[half + i], f);
}
// ANCHOR_END: sums

// What a bit pattern stands for: of every step-th one.
extern "C" __global__ void list(float *numbers, size_t count, unsigned step,
                                Format f)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        numbers[i] = decode((unsigned)i * step, f);
}

// ANCHOR: scaled
// The bit pattern of each number, which is first multiplied by a power of two.
extern "C" __global__ void scaled(const float *numbers, unsigned *patterns,
                                  size_t count, float scale, Format f)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        patterns[i] = encode(__float_as_uint(numbers[i] * scale), f);
}
// ANCHOR_END: scaled

// ANCHOR: to
// Each thread converts four neighbours: 16 bytes in, and four of the format out.
#define TO(NAME, FOUR, SHIFT, ...)                                                  \
    extern "C" __global__ void to_##NAME(const uint4 *from, FOUR *to, size_t fours) \
    {                                                                               \
        size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;                   \
        if (i < fours) {                                                            \
            Format f = {__VA_ARGS__};                                               \
            uint4 x = from[i];                                                      \
            FOUR y;                                                                 \
            y.x = encode(x.x, f) << SHIFT;                                          \
            y.y = encode(x.y, f) << SHIFT;                                          \
            y.z = encode(x.z, f) << SHIFT;                                          \
            y.w = encode(x.w, f) << SHIFT;                                          \
            to[i] = y;                                                              \
        }                                                                           \
    }
// In memory, a TF32 number is a float whose last 13 bits are 0.
TO(tf32, uint4, 13, 8, 10, 0x3fbff, 0x3fc00)
TO(bf16, ushort4, 0, 8, 7, 0x7f7f, 0x7f80)
TO(fp16, ushort4, 0, 5, 10, 0x7bff, 0x7c00)
TO(e5m2, uchar4, 0, 5, 2, 0x7b, 0x7b)
TO(e4m3, uchar4, 0, 4, 3, 0x7e, 0x7e)

// The same traffic as a conversion to FP32, which changes nothing.
extern "C" __global__ void to_fp32(const uint4 *from, uint4 *to, size_t fours)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < fours)
        to[i] = from[i];
}
// ANCHOR_END: to
