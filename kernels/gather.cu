// Random access: element i of the output comes from wherever index i says.

// ANCHOR: gather
extern "C" __global__ void gather(const unsigned int *table, const unsigned int *indices,
                                  unsigned int *out, unsigned int count)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = table[indices[i]];
}
// ANCHOR_END: gather

// The same the other way round: element i goes to wherever index i says.
extern "C" __global__ void scatter(unsigned int *table, const unsigned int *indices,
                                   const unsigned int *in, unsigned int count)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        table[indices[i]] = in[i];
}

// ANCHOR: pieces
// Each thread reads 16 bytes of a piece of 2^piece_bits times as many, which lies wherever
// its index says, and each warp writes the sum of what it has read.
extern "C" __global__ void pieces(const uint4 *table, const unsigned int *indices,
                                  unsigned int *sums, unsigned int piece_bits,
                                  unsigned int count)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    if (i < count) {
        size_t first = (size_t)indices[i >> piece_bits] << piece_bits;
        uint4 v = table[first + (i & ((1u << piece_bits) - 1))];
        sum = v.x + v.y + v.z + v.w;
    }
    for (int lane = 16; lane > 0; lane /= 2)
        sum += __shfl_xor_sync(~0u, sum, lane);
    if (threadIdx.x % 32 == 0 && i < count)
        sums[i / 32] = sum;
}
// ANCHOR_END: pieces

// ANCHOR: mix
// A permutation of the numbers below 2^bits that looks random. Each step can be undone:
// a multiplication by an odd number, and an exclusive or with the number's own upper half.
__device__ unsigned int mix(unsigned int x, unsigned int bits)
{
    unsigned int mask = (1u << bits) - 1, half = (bits + 1) / 2;
    const unsigned int odd[3] = {0x9E3779B1u, 0x85EBCA6Bu, 0xC2B2AE35u};
    for (int round = 0; round < 3; round++) {
        x = (x * odd[round]) & mask;
        x ^= x >> half;
    }
    return x;
}
// ANCHOR_END: mix

// ANCHOR: indices
// Fills 2^count_bits indices into a table of 2^table_bits words: one in each of equal
// stretches of the table, or several the same if the table is smaller. They come in the
// order of the table (sorted), or shuffled in groups of 2^group_bits neighbours, or in
// steps of 2^step_bits stretches, round after round.
extern "C" __global__ void make_indices(unsigned int *indices, unsigned int count_bits,
                                        unsigned int table_bits, unsigned int group_bits,
                                        unsigned int step_bits)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int mask = (1u << count_bits) - 1;
    unsigned int group = i >> group_bits << group_bits;
    unsigned int rank = group + mix(i - group, group_bits);
    rank = (rank << step_bits | rank >> (count_bits - step_bits)) & mask;
    if (table_bits <= count_bits) {
        indices[i] = rank >> (count_bits - table_bits);
    } else {
        unsigned int stretch_bits = table_bits - count_bits;
        unsigned int within = (rank * 2654435761u) >> (32 - stretch_bits);
        indices[i] = (rank << stretch_bits) + within;
    }
}
// ANCHOR_END: indices

// Word i holds i times an odd constant: all different, so a word from a wrong place shows.
extern "C" __global__ void fill(unsigned int *out, size_t count)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        out[i] = (unsigned int)i * 2654435761u;
}
