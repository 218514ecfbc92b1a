// Transposes: out[x][y] = in[y][x] for `height` rows of `width` elements, one element
// for each thread, in blocks of 32 × 32 threads.
//
// The elements are unsigned integers where the chapter has floats: they move the same
// bytes, and only integers stay distinct over 16384² elements, which the check needs.

// ANCHOR: read_coalesced
// Neighbouring threads read neighbouring elements and write elements `height` apart.
extern "C" __global__ void read_coalesced(const unsigned int *in, unsigned int *out,
                                          unsigned int width, unsigned int height)
{
    unsigned int x = blockIdx.x * 32 + threadIdx.x;
    unsigned int y = blockIdx.y * 32 + threadIdx.y;
    if (x < width && y < height)
        out[(size_t)x * height + y] = in[(size_t)y * width + x];
}
// ANCHOR_END: read_coalesced

// ANCHOR: write_coalesced
// The other way round: neighbouring threads write neighbours and read `width` apart.
extern "C" __global__ void write_coalesced(const unsigned int *in, unsigned int *out,
                                           unsigned int width, unsigned int height)
{
    unsigned int x = blockIdx.x * 32 + threadIdx.y;
    unsigned int y = blockIdx.y * 32 + threadIdx.x;
    if (x < width && y < height)
        out[(size_t)x * height + y] = in[(size_t)y * width + x];
}
// ANCHOR_END: write_coalesced

// ANCHOR: tile
// Through shared memory: read a tile row by row, write it column by column, so that
// both global accesses are coalesced. PADDING moves each row on by one bank.
template <int PADDING>
__device__ void through_tile(const unsigned int *in, unsigned int *out,
                             unsigned int width, unsigned int height)
{
    __shared__ unsigned int tile[32][32 + PADDING];

    unsigned int x = blockIdx.x * 32 + threadIdx.x;
    unsigned int y = blockIdx.y * 32 + threadIdx.y;
    if (x < width && y < height)
        tile[threadIdx.y][threadIdx.x] = in[(size_t)y * width + x];

    __syncthreads();

    // The block's place in the output; threadIdx.x still runs along a row of it.
    x = blockIdx.x * 32 + threadIdx.y;
    y = blockIdx.y * 32 + threadIdx.x;
    if (x < width && y < height)
        out[(size_t)x * height + y] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void tile(const unsigned int *in, unsigned int *out,
                                unsigned int width, unsigned int height)
{
    through_tile<0>(in, out, width, height);
}

extern "C" __global__ void tile_padded(const unsigned int *in, unsigned int *out,
                                       unsigned int width, unsigned int height)
{
    through_tile<1>(in, out, width, height);
}
// ANCHOR_END: tile

// What it costs to start the same threads and have them do nothing.
extern "C" __global__ void idle(const unsigned int *in, unsigned int *out,
                                unsigned int width, unsigned int height)
{
}
