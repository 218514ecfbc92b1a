// Transposes: out[x][y] = in[y][x] for `height` rows of `width` elements.
//
// The elements are unsigned integers where the chapter has floats: they move the same
// bytes, and only integers stay distinct over 16384² elements, which the check needs.

// ANCHOR: read_coalesced
// One element for each thread, in blocks of 32 × 32. Neighbouring threads read
// neighbouring elements and write elements `height` apart.
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

// ANCHOR: several
// Several elements for each of 32 × 8 threads, which asks for all of them before it waits.
// Either PADDING or the swizzle, x ^ (row & MASK), spreads a column over all banks.
template <int ROWS, int PADDING, int MASK>
__device__ void through_several(const unsigned int *in, unsigned int *out,
                                unsigned int width, unsigned int height,
                                unsigned int left, unsigned int top)
{
    __shared__ unsigned int tile[ROWS][32 + PADDING];

    unsigned int x = threadIdx.x;
    for (unsigned int y = threadIdx.y; y < ROWS; y += 8)
        if (left + x < width && top + y < height)
            tile[y][x ^ (y & MASK)] = in[(size_t)(top + y) * width + left + x];

    __syncthreads();

    for (unsigned int x = threadIdx.y; x < 32; x += 8)
        for (unsigned int y = threadIdx.x; y < ROWS; y += 32)
            if (left + x < width && top + y < height)
                out[(size_t)(left + x) * height + top + y] = tile[y][x ^ (y & MASK)];
}

extern "C" __global__ void several(const unsigned int *in, unsigned int *out,
                                   unsigned int width, unsigned int height)
{
    through_several<32, 1, 0>(in, out, width, height, blockIdx.x * 32, blockIdx.y * 32);
}

extern "C" __global__ void swizzled(const unsigned int *in, unsigned int *out,
                                    unsigned int width, unsigned int height)
{
    through_several<32, 0, 31>(in, out, width, height, blockIdx.x * 32, blockIdx.y * 32);
}
// ANCHOR_END: several

// ANCHOR: turn
// From here on a tile has 64 × 64 elements and a block 256 threads, and all accesses are
// vectors of four elements. `width` and `height` must be multiples of 4.

// Reads the tile at column x, row y of `in` and leaves it turned in shared memory: each
// thread turns 4 × 4 elements in its registers. A vector of row r that belongs at place
// p stands at p ^ (r / 4 % 8), so that eight threads that write a column of vectors, or
// read a row of them, find eight different groups of four banks.
__device__ void read_turned(uint4 tile[64][16], const unsigned int *in,
                            unsigned int width, unsigned int height,
                            unsigned int x, unsigned int y)
{
    unsigned int column = threadIdx.x % 16, row = threadIdx.x / 16;
    x += 4 * column;
    y += 4 * row;
    if (x >= width || y >= height)
        return;
    uint4 v[4];
    for (int k = 0; k < 4; k++)
        v[k] = *(const uint4 *)&in[(size_t)(y + k) * width + x];
    unsigned int place = row ^ (column % 8);
    tile[4 * column + 0][place] = make_uint4(v[0].x, v[1].x, v[2].x, v[3].x);
    tile[4 * column + 1][place] = make_uint4(v[0].y, v[1].y, v[2].y, v[3].y);
    tile[4 * column + 2][place] = make_uint4(v[0].z, v[1].z, v[2].z, v[3].z);
    tile[4 * column + 3][place] = make_uint4(v[0].w, v[1].w, v[2].w, v[3].w);
}

// Writes a turned tile to column x, row y of `out`.
__device__ void write(const uint4 tile[64][16], unsigned int *out,
                      unsigned int width, unsigned int height,
                      unsigned int x, unsigned int y)
{
    unsigned int column = threadIdx.x % 16;
    for (unsigned int row = threadIdx.x / 16; row < 64; row += 16)
        if (x + 4 * column < width && y + row < height)
            *(uint4 *)&out[(size_t)(y + row) * width + x + 4 * column] =
                tile[row][column ^ (row / 4 % 8)];
}
// ANCHOR_END: turn

// ANCHOR: vectors
// Neighbouring blocks read along the rows of the input.
extern "C" __global__ void vectors(const unsigned int *in, unsigned int *out,
                                   unsigned int width, unsigned int height)
{
    __shared__ uint4 tile[64][16];
    unsigned int x = blockIdx.x * 64, y = blockIdx.y * 64;
    read_turned(tile, in, width, height, x, y);
    __syncthreads();
    write(tile, out, height, width, y, x);
}
// ANCHOR_END: vectors

// ANCHOR: downwards
// Neighbouring blocks write along the rows of the output, and read down the input.
extern "C" __global__ void downwards(const unsigned int *in, unsigned int *out,
                                     unsigned int width, unsigned int height)
{
    __shared__ uint4 tile[64][16];
    unsigned int x = blockIdx.y * 64, y = blockIdx.x * 64;
    read_turned(tile, in, width, height, x, y);
    __syncthreads();
    write(tile, out, height, width, y, x);
}
// ANCHOR_END: downwards

// ANCHOR: any_shape
// For widths and heights that are no multiples of 4: single elements again, 64 rows at a
// time, so that 256 bytes of an output row are written together.
extern "C" __global__ void any_shape(const unsigned int *in, unsigned int *out,
                                     unsigned int width, unsigned int height)
{
    through_several<64, 0, 31>(in, out, width, height, blockIdx.y * 32, blockIdx.x * 64);
}
// ANCHOR_END: any_shape

// ANCHOR: in_place
// A square matrix in its own place: a block reads a tile and its mirror image, and when
// it has both, writes each where the other was. The blocks below the diagonal have
// nothing to do.
extern "C" __global__ void in_place(unsigned int *matrix, unsigned int side)
{
    __shared__ uint4 tiles[2][64][16];
    unsigned int x = blockIdx.y * 64, y = blockIdx.x * 64;
    if (x > y)
        return;
    read_turned(tiles[0], matrix, side, side, x, y);
    read_turned(tiles[1], matrix, side, side, y, x);
    __syncthreads();
    write(tiles[0], matrix, side, side, y, x);
    write(tiles[1], matrix, side, side, x, y);
}
// ANCHOR_END: in_place

// What it costs to start the same threads and have them do nothing.
extern "C" __global__ void idle(const unsigned int *in, unsigned int *out,
                                unsigned int width, unsigned int height)
{
}
