// compute: 8.0
// What kernels are made of, each with an answer that is easy to know.

struct Pair { unsigned int first; float second; };

__noinline__ __device__ Pair make_pair(Pair seed, unsigned int factor)
{
    seed.first *= factor;
    seed.second += factor;
    return seed;
}

extern "C" __global__ void calls(unsigned int *out, Pair seed)
{
    Pair pair = make_pair(seed, threadIdx.x);
    pair = make_pair(pair, 2);
    out[threadIdx.x] = pair.first + (unsigned int)pair.second;
}

__constant__ unsigned int table[4] = {3, 1, 4, 1};
__device__ unsigned int counter = 5;

extern "C" __global__ void variables(unsigned int *out)
{
    out[threadIdx.x] = table[threadIdx.x % 4] + (threadIdx.x == 0 ? counter : 0);
}

extern "C" __global__ void local_array(const unsigned int *in, unsigned int *out)
{
    unsigned int kept[16];
    for (int i = 0; i < 16; i++)
        kept[i] = in[i] + threadIdx.x;
    unsigned int at = in[threadIdx.x % 16] % 16;
    kept[at] += 100;
    out[threadIdx.x] = kept[(at + in[0]) % 16];
}

extern "C" __global__ void dynamic_shared(unsigned int *out, unsigned int count)
{
    extern __shared__ unsigned int memory[];
    for (unsigned int i = threadIdx.x; i < count; i += blockDim.x)
        memory[count - 1 - i] = i;
    __syncthreads();
    for (unsigned int i = threadIdx.x; i < count; i += blockDim.x)
        out[i] = memory[i];
}

extern "C" __global__ void reduction(const float *in, float *out, unsigned int count)
{
    __shared__ float sums[32];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < count ? in[i] : 0;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, distance);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / warpSize] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0;
        for (int distance = 16; distance > 0; distance /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, distance);
        if (threadIdx.x == 0)
            atomicAdd(out, sum);
    }
}

extern "C" __global__ void histogram(const unsigned int *in, unsigned int *bins,
                                     unsigned int count)
{
    __shared__ unsigned int own[16];
    if (threadIdx.x < 16)
        own[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned int i = threadIdx.x; i < count; i += blockDim.x)
        atomicAdd(&own[in[i] % 16], 1);
    __syncthreads();
    if (threadIdx.x < 16)
        bins[threadIdx.x] = own[threadIdx.x];
}

extern "C" __global__ void votes(unsigned int *out)
{
    unsigned int lane = threadIdx.x % 32;
    unsigned int result = __ballot_sync(0xffffffff, lane % 3 == 0);
    result += __all_sync(0xffffffff, lane < 32) + 2 * __any_sync(0xffffffff, lane > 99);
    result ^= __match_any_sync(0xffffffff, lane / 8);
    if (lane % 2)
        result += __reduce_add_sync(0xaaaaaaaa, lane);
    out[threadIdx.x] = result + __syncthreads_count(lane == 5);
}

// Prefix sums of four, by shuffles among the four. Of the last ones, some may be missing.
extern "C" __global__ void sums_of_four(const unsigned int *in, unsigned int *out,
                                        unsigned int count)
{
    unsigned int i = threadIdx.x, lane = i % 32;
    if (i < count) {
        unsigned int sum = in[i], four = 0xfu << (lane & ~3u);
        for (unsigned int distance = 1; distance < 4; distance *= 2) {
            unsigned int other = __shfl_up_sync(four, sum, distance, 4);
            if (lane % 4 >= distance)
                sum += other;
        }
        out[i] = sum;
    }
}

// Lanes that go round a loop a different number of times, with a switch inside.
extern "C" __global__ void divergent(unsigned int *out)
{
    unsigned int value = threadIdx.x, steps = 0;
    while (value > 1) {
        switch (value % 4) {
        case 0: value /= 4; break;
        case 1: value = value * 3 + 1; break;
        case 2: value = value / 2; break;
        case 3: value = value - 1; continue;
        }
        if (++steps == 50)
            break;
    }
    out[threadIdx.x] = value * 1000 + steps;
}

extern "C" __global__ void async_copy(const unsigned int *in, unsigned int *out,
                                      unsigned int wait)
{
    __shared__ uint4 tile[64];
    unsigned int to = (unsigned int)__cvta_generic_to_shared(&tile[threadIdx.x]);
    tile[threadIdx.x] = make_uint4(7, 7, 7, 7);
    __syncthreads();
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 ::"r"(to), "l"(in + 4 * threadIdx.x) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (wait)
        asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    uint4 v = tile[63 - threadIdx.x];
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}

extern "C" __global__ void numbers(const float *in, float *out)
{
    float x = in[threadIdx.x];
    out[8 * threadIdx.x + 0] = expf(x);
    out[8 * threadIdx.x + 1] = sqrtf(x) / 3.0f;
    out[8 * threadIdx.x + 2] = __fmul_rz(x, 0.1f);
    out[8 * threadIdx.x + 3] = rsqrtf(x);
    out[8 * threadIdx.x + 4] = (float)((double)x * 0.1);
    out[8 * threadIdx.x + 5] = floorf(x) + fminf(x, 2.0f);
    out[8 * threadIdx.x + 6] = sinf(x);
    out[8 * threadIdx.x + 7] = logf(x);
}

extern "C" __device__ int printf(const char *, ...);

extern "C" __global__ void prints(float value)
{
    printf("thread %d of %u: %.2f%% %s\n", threadIdx.x, blockDim.x, value, "done");
}

extern "C" __global__ void formats(int *out)
{
    out[0] = printf("%#x|%+d|% d|%05d|%-4d|%.3d|%*d|\n", 255, 7, 7, -42, 5, 6, 4, 3);
    out[1] = printf("%p %.2s %E %+.1f %06.2f %#o 100%%\n", (void *)0, "abc", 12345.678, 2.25, -1.5, 8);
}
