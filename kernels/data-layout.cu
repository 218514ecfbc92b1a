// An array of elements that have several fields of 4 bytes. Thread i reads or writes the
// first USED fields of element i.

// ANCHOR: place
// Where field f of element i is, in words. Elements come in tiles of 2^shift; within a
// tile, equal fields are contiguous. A tile of one element is an array of structures,
// a tile of all elements is a structure of arrays.
__device__ size_t place(unsigned int i, unsigned int f, unsigned int fields,
                        unsigned int shift)
{
    unsigned int tile = i >> shift, rest = i & ((1u << shift) - 1);
    return (((size_t)tile * fields + f) << shift) + rest;
}
// ANCHOR_END: place

// What field f of element i holds: different in every field, for up to 16 of them.
__device__ unsigned int pattern(unsigned int i, unsigned int f)
{
    return (i * 16 + f) * 2654435761u;
}

// ANCHOR: read
template <int USED>
__device__ void read(const unsigned int *elements, unsigned int *sums, unsigned int count,
                     unsigned int fields, unsigned int shift)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    unsigned int sum = 0;
    for (unsigned int f = 0; f < USED; f++)
        sum += elements[place(i, f, fields, shift)];
    sums[i] = sum;
}
// ANCHOR_END: read

// ANCHOR: write
template <int USED>
__device__ void write(unsigned int *elements, unsigned int count, unsigned int fields,
                      unsigned int shift)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    for (unsigned int f = 0; f < USED; f++)
        elements[place(i, f, fields, shift)] = pattern(i, f);
}
// ANCHOR_END: write

// ANCHOR: vectors
// All eight fields of an array of structures, with two loads of 16 bytes.
extern "C" __global__ void read8_vectors(const uint4 *elements, unsigned int *sums,
                                         unsigned int count, unsigned int, unsigned int)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    uint4 a = elements[2 * i], b = elements[2 * i + 1];
    sums[i] = a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w;
}
// ANCHOR_END: vectors

// The same, stored.
extern "C" __global__ void write8_vectors(uint4 *elements, unsigned int *,
                                          unsigned int count, unsigned int, unsigned int)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    elements[2 * i] =
        make_uint4(pattern(i, 0), pattern(i, 1), pattern(i, 2), pattern(i, 3));
    elements[2 * i + 1] =
        make_uint4(pattern(i, 4), pattern(i, 5), pattern(i, 6), pattern(i, 7));
}

// read1, write1, read2 and so on. All take the same arguments.
#define KERNELS(USED)                                                                   \
    extern "C" __global__ void read##USED(const unsigned int *elements,                 \
                                          unsigned int *sums, unsigned int count,       \
                                          unsigned int fields, unsigned int shift)      \
    {                                                                                   \
        read<USED>(elements, sums, count, fields, shift);                               \
    }                                                                                   \
    extern "C" __global__ void write##USED(unsigned int *elements, unsigned int *,      \
                                           unsigned int count, unsigned int fields,     \
                                           unsigned int shift)                          \
    {                                                                                   \
        write<USED>(elements, count, fields, shift);                                    \
    }
KERNELS(1)
KERNELS(2)
KERNELS(3)
KERNELS(4)
KERNELS(8)
KERNELS(16)
