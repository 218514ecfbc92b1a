// Strided accesses: thread i uses element i * stride + offset of the array `strided`, and
// element i of the array `contiguous`.
//
// The elements are integers where the chapter has floats: they move the same bytes, and
// only integers stay distinct over billions of elements, which the check of the result
// needs.

// ANCHOR: gather
// Strided reads, contiguous writes.
template <class T>
__device__ void gather(const T *strided, T *contiguous, size_t count, size_t stride,
                       size_t offset)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        contiguous[i] = strided[i * stride + offset];
}
// ANCHOR_END: gather

// One kernel for each width of an element. Each reads its element with one instruction.
#define GATHER(BYTES, T)                                                                \
    extern "C" __global__ void gather##BYTES(const T *strided, T *contiguous,           \
                                             size_t count, size_t stride, size_t offset)\
    {                                                                                   \
        gather(strided, contiguous, count, stride, offset);                             \
    }
GATHER(1, unsigned char)
GATHER(2, unsigned short)
GATHER(4, unsigned int)
GATHER(8, uint2)
GATHER(16, uint4)

// What `fill` puts into word i: i times an odd constant, different in each of 2^32 words,
// so that a word from a wrong place shows.
__device__ unsigned int pattern(size_t i)
{
    return (unsigned int)i * 2654435761u;
}

// ANCHOR: others
// Strided writes, contiguous reads.
extern "C" __global__ void scatter4(unsigned int *strided,
                                    const unsigned int *contiguous, size_t count,
                                    size_t stride, size_t offset)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        strided[i * stride + offset] = contiguous[i];
}

// Only reads, and marks what is wrong: nothing, if all is right. The compiler would drop
// a load whose result is never looked at.
extern "C" __global__ void read4(const unsigned int *strided, unsigned int *contiguous,
                                 size_t count, size_t stride, size_t offset)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count && strided[i * stride + offset] != pattern(i * stride + offset))
        contiguous[i] = 1;
}

// Only writes.
extern "C" __global__ void write4(unsigned int *strided, const unsigned int *,
                                  size_t count, size_t stride, size_t offset)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        strided[i * stride + offset] = pattern(i);
}
// ANCHOR_END: others

// ANCHOR: resident
// gather4 with persistent threads, as many as the GPU holds at once. Each takes element
// after element, one load at a time. So no thread has to be launched during the work.
extern "C" __global__ void gather4_resident(const unsigned int *strided,
                                            unsigned int *contiguous, size_t count,
                                            size_t stride, size_t offset)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (; i < count; i += step)
        contiguous[i] = strided[i * stride + offset];
}
// ANCHOR_END: resident

// Does nothing: the launch cost of the threads.
extern "C" __global__ void idle(const unsigned int *, unsigned int *, size_t, size_t,
                                size_t)
{
}

// Fills `count` words.
extern "C" __global__ void fill(unsigned int *out, size_t count)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        out[i] = pattern(i);
}
