// What lanes and blocks do together, PTX within the source, and what is printed.
extern "C" __global__ void warp(unsigned int *out, unsigned short *halves, int bins)
{
    __shared__ int counts[8];
    unsigned int t = threadIdx.x, r = t * 7 + 3;
    if (t < 8)
        counts[t] = 0;
    __syncthreads();
    atomicAdd(&counts[r % 8], 1);
    atomicMax_block(&counts[0], bins);
    unsigned int all = __ballot_sync(~0u, r % 3 == 0);
    float f = __shfl_xor_sync(~0u, (float)t, 5) + __shfl_up_sync(~0u, 1.0f, 2);
    asm("mad.lo.u32 %0, %1, %2, %0;" : "+r"(r) : "r"(t), "n"(5));
    asm volatile("{ .reg .b16 h; add.u16 h, %1, %1; mov.b16 %0, h; }"
                 : "=h"(halves[t]) : "h"((unsigned short)r));
    asm volatile("membar.cta;");
    __syncwarp();
    assert(bins > 1);
    if (t == 31)
        printf("%d of %u: %f\n", bins, all, f);
    int any = __any_sync(~0u, t == 40) || __all_sync(~0u, t < 32);
    out[t] = r + all + (unsigned int)f + any + (unsigned int)atomicCAS(&counts[t % 8], 4, 9);
}
