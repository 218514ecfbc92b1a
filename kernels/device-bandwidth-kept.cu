// compute: 8.0
// The copy and the triad of device-bandwidth.cu, one element of 16 bytes for each thread,
// with an eviction hint: the L2 cache is to keep what was read longer than what was
// written. GPUs of compute capability 8.0 or higher support eviction hints.

// ANCHOR: keep
typedef unsigned int u32;
typedef unsigned long long u64;

// A load after which the L2 cache should replace this line last.
__device__ uint4 load_and_keep(const uint4 *in)
{
    u64 policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(policy));
    uint4 v;
    asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(in), "l"(policy));
    return v;
}

extern "C" __global__ void copy_kept(const uint4 *a, const uint4 *b, uint4 *out,
                                     size_t count)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = load_and_keep(a + i);
}
// ANCHOR_END: keep

extern "C" __global__ void triad_kept(const uint4 *a, const uint4 *b, uint4 *out,
                                      size_t count)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        uint4 v = load_and_keep(a + i), w = load_and_keep(b + i);
        out[i] = make_uint4(v.x + 3 * w.x, v.y + 3 * w.y, v.z + 3 * w.z, v.w + 3 * w.w);
    }
}
