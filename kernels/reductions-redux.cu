// compute: 8.0
// The sums of reductions.cu with an instruction that adds up a warp's 32 values by itself.
// GPUs of compute capability 8.0 or higher have it, for integers.

typedef unsigned int u32;

// ANCHOR: redux
__device__ u32 by_redux(u32 v)
{
    __shared__ u32 sums[32];
    u32 lane = threadIdx.x % 32;
    v = __reduce_add_sync(~0u, v);
    if (lane == 0)
        sums[threadIdx.x / 32] = v;
    __syncthreads();
    v = __reduce_add_sync(~0u, lane < blockDim.x / 32 ? sums[lane] : 0);
    __syncthreads();
    return v;
}
// ANCHOR_END: redux

extern "C" __global__ void alone_redux(u32 *out, u32 rounds)
{
    u32 v = threadIdx.x * 2654435761u;
    for (u32 round = 0; round < rounds; round++)
        v = (v + by_redux(v)) * 2246822519u;
    out[threadIdx.x] = v;
}
