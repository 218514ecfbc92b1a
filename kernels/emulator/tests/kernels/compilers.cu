// What compilers make of ordinary code, at each level of optimising: `compilers.sh` makes the PTX of
// those other than NVRTC. Each kernel stores a word for each thread of one block of 64.

struct Pair { int first; short second[3]; double third; };

__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ int calls;
__device__ Pair last = {7, {1, 2, 3}, 0.5};

__device__ __attribute__((noinline)) int collatz(int number, int *highest) {
    int steps = 0;
    for (; number > 1; ++steps) {
        number = number % 2 ? 3 * number + 1 : number / 2;
        *highest = number > *highest ? number : *highest;
    }
    return steps;
}

__device__ __attribute__((noinline)) Pair turned(Pair pair) {
    for (int i = 0; i < 3; ++i) pair.second[i] = -pair.second[i];
    pair.third = 1 / pair.third;
    return pair;
}

// A call that passes a pointer into the caller's frame.
extern "C" __global__ void a_call(const int *in, int *out) {
    int highest = 0;
    int steps = collatz(in[threadIdx.x] & 63, &highest);
    out[threadIdx.x] = 1000 * steps + highest;
}

// A structure by value, in parameters and results.
extern "C" __global__ void a_structure(const int *in, int *out, Pair pair) {
    pair.first += in[threadIdx.x] & 255;
    Pair other = turned(pair);
    if (threadIdx.x == 0) last = other;
    out[threadIdx.x] = other.first + other.second[threadIdx.x % 3] + (int)(100 * other.third);
}

extern "C" __global__ void a_switch(const int *in, int *out) {
    int value = in[threadIdx.x], result;
    switch (value & 15) {
    case 0: result = 11; break;
    case 1: result = value >> 3; break;
    case 2: result = value ^ 0x55; // and the next
    case 3: result = value * 7; break;
    case 5: result = table[value >> 4 & 7]; break;
    case 6: result = -value; break;
    case 7: return (void)(out[threadIdx.x] = 77);
    case 9: result = value % 13; break;
    default: result = __popc(value);
    }
    out[threadIdx.x] = result;
}

extern "C" __global__ void a_local_array(const int *in, int *out) {
    unsigned char digits[10];
    int count = 0;
    for (unsigned rest = in[threadIdx.x]; rest; rest /= 10) digits[count++] = rest % 10;
    int sum = 0;
    while (count--) sum = 3 * sum + digits[count];
    out[threadIdx.x] = sum;
}

extern "C" __global__ void shared_sums(const int *in, int *out) {
    __shared__ int tile[64];
    extern __shared__ int more[];
    int thread = threadIdx.x;
    tile[thread] = in[thread];
    more[63 - thread] = in[thread] >> 8;
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (thread < step) tile[thread] += tile[thread + step];
        __syncthreads();
    }
    out[thread] = tile[0] + more[thread];
}

extern "C" __global__ void a_warp(const int *in, int *out) {
    int value = in[threadIdx.x];
    bool odd = value & 1;
    unsigned ballot = __ballot_sync(~0u, odd);
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
    if (odd) value += atomicAdd(&calls, 0) + __popc(__activemask());
    out[threadIdx.x] = value ^ ballot;
}

extern "C" __global__ void numbers(const int *in, int *out) {
    int value = in[threadIdx.x];
    float single = value * 0.125f + 3;
    double sum = sqrt((double)(value & 1023)) / 3;
    long long wide = (long long)value * value % 1000003;
    unsigned long long high = __umul64hi(wide << 40, 12345678901ull);
    short narrow = (short)(value >> 3);
    signed char byte = (signed char)(narrow * 5);
    out[threadIdx.x] = (int)fmaf(single, 0.5f, 1) + (int)(sum * 1e6) + (int)wide + (int)high + narrow / 7
        + byte % 5 + (value < 0 ? -1 : 1) + __float_as_int(single) / 1024;
}

extern "C" __global__ void vectors(const int4 *in, int4 *out) {
    int4 value = in[threadIdx.x / 4];
    int *parts = (int *)&value;
    int sum = 0;
    for (int i = 0; i < 4; ++i) sum = sum * 5 + parts[(i + threadIdx.x) & 3];
    ((int *)out)[threadIdx.x] = sum;
}

template <int N> __device__ int power(int base) { return base * power<N - 1>(base); }
template <> __device__ int power<0>(int) { return 1; }

extern "C" __global__ void loops(const int *in, int *out) {
    int value = in[threadIdx.x], sum = power<3>(value & 7);
    for (int i = 0; i < (value & 15); ++i) {
        if (i == 3) continue;
        for (int k = i; k < 9; k += 2) {
            sum += i * k;
            if (sum % 31 == 0) goto done;
        }
        if (sum > 500) break;
    }
done:
    out[threadIdx.x] = sum;
}

__device__ int doubled(int number) { return 2 * number; }
__device__ int followed(int number) { return number + 1; }
__device__ int (*const functions[2])(int) = {doubled, followed};

// A call through a pointer that the thread chooses.
extern "C" __global__ void a_pointer(const int *in, int *out) {
    int value = in[threadIdx.x];
    int (*function)(int) = functions[value >> 4 & 1];
    out[threadIdx.x] = function(value) + (value & 1 ? doubled : function)(value);
}

// A flag that goes round through shared memory, and a place to look at that is computed from one.
extern "C" __global__ void flags(const int *in, int *out) {
    __shared__ volatile int ready[2];
    __shared__ int data[2], seen;
    int thread = threadIdx.x, sum = 0, set;
    if (thread < 2) ready[thread] = 0;
    __syncthreads();
    if (thread < 2) {
        data[thread] = in[thread];
        __threadfence_block();
        ready[thread] = 1;
    } else if (thread >= 32) {
        do {
            if (thread == 32) seen = ready[0];
            __syncwarp();
            set = seen;
            __syncwarp();
        } while (set == 0);
        for (int i = 1; i >= 0;) {
            int now = ready[i];
            __threadfence_block();
            sum += now ? data[i] : 0;
            i -= now != 0;
        }
    }
    out[thread] = sum;
}
