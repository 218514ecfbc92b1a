// Atomic operations that are made of a compare-and-swap. What they expect first comes from a
// plain read, which may be old. Of kernels that end in `_wrong` more is made of that read.

extern "C" __global__ void sum(const double *in, double *total) {
    double value = in[blockIdx.x * blockDim.x + threadIdx.x];
    unsigned long long *word = (unsigned long long *)total;
    unsigned long long old = *word, expected;
    do {
        expected = old;
        old = atomicCAS(word, expected,
                        (unsigned long long)__double_as_longlong(value + __longlong_as_double(expected)));
    } while (old != expected);
}

extern "C" __global__ void maximum(const float *in, float *most) {
    float value = in[blockIdx.x * blockDim.x + threadIdx.x];
    int old = *(int *)most;
    while (__int_as_float(old) < value) {
        int expected = old;
        old = atomicCAS((int *)most, expected, __float_as_int(value));
        if (old == expected)
            break;
    }
}

// Halves of a word, each counted by itself.
extern "C" __global__ void halves(unsigned short *counts) {
    unsigned int half = threadIdx.x & 1;
    unsigned int *word = (unsigned int *)counts;
    unsigned int old = *word, expected;
    do {
        expected = old;
        unsigned int count = (expected >> 16 * half) + 1 & 0xffff;
        unsigned int changed = half ? expected & 0xffff | count << 16 : expected & 0xffff0000 | count;
        old = atomicCAS(word, expected, changed);
    } while (old != expected);
}

// In shared memory, and what was there before goes out.
extern "C" __global__ void tickets(unsigned int *out) {
    __shared__ unsigned int next;
    if (threadIdx.x == 0)
        next = 0;
    __syncthreads();
    unsigned int old = next, expected;
    do {
        expected = old;
        old = atomicCAS(&next, expected, expected + 3);
    } while (old != expected);
    out[blockIdx.x * blockDim.x + old / 3] = blockIdx.x;
}

extern "C" __global__ void ticket_wrong(unsigned int *next, unsigned int *out) {
    unsigned int own = *next;
    atomicCAS(next, own, own + 1);
    out[own] = threadIdx.x;
}

extern "C" __global__ void sum_wrong(unsigned int *total, unsigned int *busy) {
    unsigned int old = *total;
    if (atomicCAS(busy, old, old + 1) == old)
        atomicAdd(total, 1);
}

extern "C" __global__ void seen_wrong(unsigned int *total, unsigned int *out) {
    unsigned int old = *total, expected;
    out[blockIdx.x * blockDim.x + threadIdx.x] = old;
    do {
        expected = old;
        old = atomicCAS(total, expected, expected + 1);
    } while (old != expected);
}

extern "C" __global__ void store_wrong(unsigned int *total) {
    unsigned int old = *total;
    if (atomicCAS(total, old, old + 1) != old)
        *total = old + 2;
}
