// One access of one warp, in any pattern: lane l accesses element place[l], if bit l of
// `mask` is set.

template <class T>
__device__ void global_load(const T *in, T *out, const unsigned int *place,
                            unsigned int mask)
{
    unsigned int lane = threadIdx.x;
    if (mask >> lane & 1)
        out[lane] = in[place[lane]];
}

template <class T>
__device__ void global_store(const T *in, T *out, const unsigned int *place,
                             unsigned int mask)
{
    unsigned int lane = threadIdx.x;
    if (mask >> lane & 1)
        out[place[lane]] = in[lane];
}

template <class T>
__device__ void shared_load(const T *in, T *out, const unsigned int *place,
                            unsigned int mask)
{
    __shared__ T tile[1024];
    unsigned int lane = threadIdx.x;
    for (unsigned int i = lane; i < 1024; i += 32)
        tile[i] = in[i];
    __syncthreads();
    if (mask >> lane & 1)
        out[lane] = tile[place[lane]];
}

template <class T>
__device__ void shared_store(const T *in, T *out, const unsigned int *place,
                             unsigned int mask)
{
    __shared__ T tile[1024];
    unsigned int lane = threadIdx.x;
    for (unsigned int i = lane; i < 1024; i += 32)
        tile[i] = in[i];
    __syncthreads();
    if (mask >> lane & 1)
        tile[place[lane]] = in[lane];
    __syncthreads();
    for (unsigned int i = lane; i < 1024; i += 32)
        out[i] = tile[i];
}

#define KERNELS(BYTES, T)                                                               \
    extern "C" __global__ void global_load##BYTES(                                      \
        const T *in, T *out, const unsigned int *place, unsigned int mask)              \
    {                                                                                   \
        global_load(in, out, place, mask);                                              \
    }                                                                                   \
    extern "C" __global__ void global_store##BYTES(                                     \
        const T *in, T *out, const unsigned int *place, unsigned int mask)              \
    {                                                                                   \
        global_store(in, out, place, mask);                                             \
    }                                                                                   \
    extern "C" __global__ void shared_load##BYTES(                                      \
        const T *in, T *out, const unsigned int *place, unsigned int mask)              \
    {                                                                                   \
        shared_load(in, out, place, mask);                                              \
    }                                                                                   \
    extern "C" __global__ void shared_store##BYTES(                                     \
        const T *in, T *out, const unsigned int *place, unsigned int mask)              \
    {                                                                                   \
        shared_store(in, out, place, mask);                                             \
    }
KERNELS(1, unsigned char)
KERNELS(2, unsigned short)
KERNELS(4, unsigned int)
KERNELS(8, uint2)
KERNELS(16, uint4)
