// Attention's first half for one head: a request's query times the key of each of its
// tokens gives the token's score. A key has 64 words, 256 bytes. They are whole numbers, and
// sums wrap around, so that every score can be compared exactly.

// The lanes that share a key, with 16 bytes each, and the tokens that a block takes.
#define LANES 16
#define TOKENS 128

// ANCHOR: slot
// Where a token's key is, in keys. Without pages, each request has room for the longest one.
// With pages, the request's row of the table says which page has the token.
template <bool PAGED>
__device__ size_t slot(const unsigned int *table, unsigned int request, unsigned int token,
                       unsigned int most, unsigned int page_bits)
{
    if (!PAGED)
        return (size_t)request * most + token;
    size_t page = table[request * (most >> page_bits) + (token >> page_bits)];
    return (page << page_bits) + (token & ((1 << page_bits) - 1));
}
// ANCHOR_END: slot

// ANCHOR: scores
template <bool PAGED>
__device__ void scores(const uint4 *keys, const unsigned int *table,
                       const unsigned int *lengths, const uint4 *query, unsigned int *out,
                       unsigned int most, unsigned int page_bits)
{
    const unsigned int AT_ONCE = 256 / LANES, ROUNDS = TOKENS / AT_ONCE;
    unsigned int request = blockIdx.y, length = lengths[request];
    unsigned int lane = threadIdx.x % LANES;
    unsigned int first = blockIdx.x * TOKENS + threadIdx.x / LANES;
    if (blockIdx.x * TOKENS >= length)
        return;

    uint4 q = query[lane], key[ROUNDS];
#pragma unroll
    for (unsigned int k = 0; k < ROUNDS; k++) { // past the end: the last token once more
        unsigned int token = min(first + k * AT_ONCE, length - 1);
        key[k] = keys[slot<PAGED>(table, request, token, most, page_bits) * LANES + lane];
    }
#pragma unroll
    for (unsigned int k = 0; k < ROUNDS; k++) {
        unsigned int sum =
            key[k].x * q.x + key[k].y * q.y + key[k].z * q.z + key[k].w * q.w;
        for (int step = LANES / 2; step > 0; step /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, step, LANES);
        unsigned int token = first + k * AT_ONCE;
        if (lane == 0 && token < length)
            out[request * most + token] = sum;
    }
}
// ANCHOR_END: scores

// Fills the cache: word w of a request's token is the number of that word in a cache without
// pages, times an odd constant.
template <bool PAGED>
__device__ void fill(unsigned int *keys, const unsigned int *table,
                     const unsigned int *lengths, unsigned int most, unsigned int page_bits)
{
    unsigned int request = blockIdx.y, word = threadIdx.x % 64;
    unsigned int token = blockIdx.x * 4 + threadIdx.x / 64;
    if (token < lengths[request])
        keys[slot<PAGED>(table, request, token, most, page_bits) * 64 + word] =
            ((request * most + token) * 64 + word) * 2654435761u;
}

#define KERNELS(NAME, PAGED)                                                              \
    extern "C" __global__ void scores_##NAME(                                             \
        const uint4 *keys, const unsigned int *table, const unsigned int *lengths,        \
        const uint4 *query, unsigned int *out, unsigned int most, unsigned int page_bits) \
    {                                                                                     \
        scores<PAGED>(keys, table, lengths, query, out, most, page_bits);                 \
    }                                                                                     \
    extern "C" __global__ void fill_##NAME(                                               \
        unsigned int *keys, const unsigned int *table, const unsigned int *lengths,       \
        unsigned int most, unsigned int page_bits)                                        \
    {                                                                                     \
        fill<PAGED>(keys, table, lengths, most, page_bits);                               \
    }
KERNELS(contiguous, false)
KERNELS(paged, true)
