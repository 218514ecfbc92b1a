// Bits that nobody has written, or that nobody uses. Of kernels that end in `_used` the last
// step is wrong.

struct Padded {
    unsigned char tag;
    unsigned int value;
    unsigned short rest;
};

struct Fields {
    unsigned int low : 12;
    unsigned int high : 20;
};

// A status and a value in one word: the value means nothing until the status says so.
extern "C" __global__ void half_of_a_word(volatile unsigned long long *slot, unsigned int *out) {
    unsigned int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        unsigned long long seen;
        do {
            __nanosleep(20);
            seen = *slot;
        } while ((unsigned int)seen == 0);
        out[lane] = (unsigned int)(seen >> 32) + lane;
    } else if (lane == 0) {
        *slot = (unsigned long long)41 << 32 | 1;
    }
}

extern "C" __global__ void half_of_a_word_used(volatile unsigned long long *slot, unsigned int *out) {
    if (*slot >> 32 == 0)
        out[threadIdx.x] = 1;
}

// Each is one word or two, with bytes between its members that nobody writes.
extern "C" __global__ void padding(const Padded *in, Padded *out) {
    __shared__ Padded tile[64];
    tile[threadIdx.x].tag = in[threadIdx.x].tag;
    tile[threadIdx.x].value = in[threadIdx.x].value;
    tile[threadIdx.x].rest = 7;
    __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

extern "C" __global__ void padding_used(const Padded *in, unsigned int *out) {
    __shared__ Padded tile[64];
    tile[threadIdx.x].tag = in[threadIdx.x].tag;
    tile[threadIdx.x].value = in[threadIdx.x].value;
    __syncthreads();
    unsigned int *words = (unsigned int *)tile;
    out[threadIdx.x] = words[3 * threadIdx.x] * 3;
}

// A field is changed in a word, and the rest of the word put back.
extern "C" __global__ void fields(unsigned int *out) {
    __shared__ volatile Fields tile[64];
    tile[threadIdx.x].low = threadIdx.x;
    out[threadIdx.x] = tile[threadIdx.x].low;
    tile[threadIdx.x].high = 3 * threadIdx.x;
    out[threadIdx.x] += tile[threadIdx.x].high;
}

extern "C" __global__ void fields_used(unsigned int *out) {
    __shared__ volatile Fields tile[64];
    tile[threadIdx.x].low = threadIdx.x;
    out[threadIdx.x] = tile[threadIdx.x].low + tile[threadIdx.x].high;
}

// Of four bytes in a word two are written, and two are asked for, in several ways.
extern "C" __global__ void bytes(const unsigned int *in, unsigned int *out, int wrong) {
    __shared__ unsigned int tile[64];
    unsigned char *own = (unsigned char *)&tile[threadIdx.x];
    own[1] = threadIdx.x;
    own[2] = 100 + threadIdx.x;
    __syncwarp();
    unsigned int word = *(volatile unsigned int *)&tile[threadIdx.x];
    unsigned int masked = (word & 0x00ffff00) + 1;
    unsigned int moved = __byte_perm(word, in[threadIdx.x], 0x6215) ^ __funnelshift_r(word, 0, 8) << 16;
    unsigned int passed = __shfl_xor_sync(0xffffffff, word, 1) >> 8 & 0xffff;
    out[threadIdx.x] = masked + (moved & 0x0000ff00) + passed * 3;
    if (wrong == 1)
        out[threadIdx.x] += __popc(word);
    if (wrong == 2)
        out[word >> 24] = 0;
    if (wrong == 3 && (word & 0x8000000) != 0)
        out[threadIdx.x] = 0;
}

// What is chosen is written; what is not may be anything.
extern "C" __global__ void chosen(const unsigned int *in, unsigned int *out, unsigned int count) {
    unsigned int value = in[threadIdx.x];
    unsigned int other = 5 * threadIdx.x + 1;
    unsigned int kept = threadIdx.x < count ? value : other;
    out[threadIdx.x] = kept + 1;
}

// Two floats side by side, loaded together, of which one is written.
extern "C" __global__ void pairs(float2 *pairs, float *out, int wrong) {
    pairs[threadIdx.x].x = threadIdx.x;
    __syncwarp();
    float2 pair = pairs[threadIdx.x];
    pairs[threadIdx.x + 32] = pair;
    __syncwarp();
    float2 copied = pairs[threadIdx.x + 32];
    out[threadIdx.x] = 2 * copied.x;
    if (wrong)
        out[threadIdx.x] += copied.y;
}

// All of it, or none.
extern "C" __global__ void copied(const unsigned int *in, unsigned int *out) {
    out[threadIdx.x] = in[threadIdx.x];
}
