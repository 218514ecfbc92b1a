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
// Several elements for each of 32 × 8 threads, which asks for all of them before it
// waits. Either PADDING or the swizzle, x ^ (y & MASK), spreads a column over all
// banks.
template <int ROWS, int PADDING, int MASK>
__device__ void through_several(const unsigned int *in, unsigned int *out,
                                unsigned int width, unsigned int height,
                                unsigned int left, unsigned int top)
{
    __shared__ unsigned int tile[ROWS][32 + PADDING];
    unsigned int along = threadIdx.x, across = threadIdx.y;

    unsigned int v[ROWS / 8];
    for (int k = 0; k < ROWS / 8; k++) {
        unsigned int x = left + along, y = top + across + 8 * k;
        if (x < width && y < height)
            v[k] = in[(size_t)y * width + x];
    }
    for (int k = 0; k < ROWS / 8; k++) {
        unsigned int y = across + 8 * k;
        tile[y][along ^ (y & MASK)] = v[k];
    }

    __syncthreads();

    for (int k = 0; k < ROWS / 8; k++) {
        unsigned int x = across + 8 * (k % 4), y = along + 32 * (k / 4);
        if (left + x < width && top + y < height)
            out[(size_t)(left + x) * height + top + y] = tile[y][x ^ (y & MASK)];
    }
}

extern "C" __global__ void several(const unsigned int *in, unsigned int *out,
                                   unsigned int width, unsigned int height)
{
    unsigned int left = blockIdx.x * 32, top = blockIdx.y * 32;
    through_several<32, 1, 0>(in, out, width, height, left, top);
}

extern "C" __global__ void swizzled(const unsigned int *in, unsigned int *out,
                                    unsigned int width, unsigned int height)
{
    unsigned int left = blockIdx.x * 32, top = blockIdx.y * 32;
    through_several<32, 0, 31>(in, out, width, height, left, top);
}
// ANCHOR_END: several

// ANCHOR: vectors
// Vectors of four elements in all accesses. `width` and `height` must be multiples of 4.
// A tile has SIDE rows of VECTORS vectors; a block has a thread for each 4 × 4 elements.
const unsigned int SIDE = 64, VECTORS = SIDE / 4;

// Each thread reads 4 × 4 elements of the tile at column x, row y of a matrix.
__device__ void read(uint4 v[4], const unsigned int *in, unsigned int width,
                     unsigned int height, unsigned int x, unsigned int y)
{
    x += threadIdx.x % VECTORS * 4;
    y += threadIdx.x / VECTORS * 4;
    for (int k = 0; k < 4; k++)
        if (x < width && y < height)
            v[k] = *(const uint4 *)&in[(size_t)(y + k) * width + x];
}

// It turns them in its registers and puts them where they belong in the turned tile:
// as vector `row` of the rows 4 * column to 4 * column + 3. There this vector is at
// place row ^ (column % 8), so that neither eight threads that write a column of
// vectors nor eight that read a row of them meet in a bank.
__device__ void turn(uint4 tile[SIDE][VECTORS], const uint4 v[4])
{
    unsigned int column = threadIdx.x % VECTORS, row = threadIdx.x / VECTORS;
    unsigned int place = row ^ column % 8;
    tile[4 * column + 0][place] = make_uint4(v[0].x, v[1].x, v[2].x, v[3].x);
    tile[4 * column + 1][place] = make_uint4(v[0].y, v[1].y, v[2].y, v[3].y);
    tile[4 * column + 2][place] = make_uint4(v[0].z, v[1].z, v[2].z, v[3].z);
    tile[4 * column + 3][place] = make_uint4(v[0].w, v[1].w, v[2].w, v[3].w);
}

// Writes a tile to column x, row y of a matrix.
__device__ void write(const uint4 tile[SIDE][VECTORS], unsigned int *out,
                      unsigned int width, unsigned int height,
                      unsigned int x, unsigned int y)
{
    unsigned int place = threadIdx.x % VECTORS;
    for (int k = 0; k < 4; k++) {
        unsigned int row = threadIdx.x / VECTORS + VECTORS * k;
        if (x + 4 * place < width && y + row < height)
            *(uint4 *)&out[(size_t)(y + row) * width + x + 4 * place] =
                tile[row][place ^ row / 4 % 8];
    }
}

__device__ void through_vectors(const unsigned int *in, unsigned int *out,
                                unsigned int width, unsigned int height,
                                unsigned int x, unsigned int y)
{
    __shared__ uint4 tile[SIDE][VECTORS];
    uint4 v[4];
    read(v, in, width, height, x, y);
    turn(tile, v);
    __syncthreads();
    write(tile, out, height, width, y, x);
}

extern "C" __global__ void vectors(const unsigned int *in, unsigned int *out,
                                   unsigned int width, unsigned int height)
{
    through_vectors(in, out, width, height, blockIdx.x * SIDE, blockIdx.y * SIDE);
}
// ANCHOR_END: vectors

// ANCHOR: downwards
// Blocks start in the order of blockIdx.x. Above, neighbouring blocks read along rows
// and write below each other; here they read below each other and write along rows.
extern "C" __global__ void downwards(const unsigned int *in, unsigned int *out,
                                     unsigned int width, unsigned int height)
{
    through_vectors(in, out, width, height, blockIdx.y * SIDE, blockIdx.x * SIDE);
}
// ANCHOR_END: downwards

// ANCHOR: any_shape
// For widths and heights that are no multiples of 4: single elements again, 64 rows at
// a time, so that 256 bytes of an output row are written together.
extern "C" __global__ void any_shape(const unsigned int *in, unsigned int *out,
                                     unsigned int width, unsigned int height)
{
    unsigned int left = blockIdx.y * 32, top = blockIdx.x * 64;
    through_several<64, 0, 31>(in, out, width, height, left, top);
}
// ANCHOR_END: any_shape

// ANCHOR: whole_sectors
// As `any_shape`, but what is written of an output row begins and ends where a sector of 8
// elements does: up to 7 elements earlier than the tile. So the tile has 8 more rows above it.
extern "C" __global__ void whole_sectors(const unsigned int *in, unsigned int *out,
                                         unsigned int width, unsigned int height)
{
    __shared__ unsigned int tile[8 + 64][32 + 1];
    unsigned int along = threadIdx.x, across = threadIdx.y;
    unsigned int left = blockIdx.y * 32, top = blockIdx.x * 64;

    unsigned int v[9];
    for (int k = 0; k < 9; k++) { // above the first row, y wraps around and is too large
        unsigned int x = left + along, y = top + across + 8 * k - 8;
        if (x < width && y < height)
            v[k] = in[(size_t)y * width + x];
    }
    for (int k = 0; k < 9; k++)
        tile[across + 8 * k][along] = v[k];

    __syncthreads();

    for (int k = 0; k < 8; k++) {
        unsigned int x = across + 8 * (k % 4);
        size_t row = (size_t)(left + x) * height;
        unsigned int y = along + 32 * (k / 4) - (row + top) % 8; // in the tile
        if (left + x < width && top + y < height)
            out[row + (top + y)] = tile[8 + y][x];
    }
}
// ANCHOR_END: whole_sectors

// ANCHOR: in_place
// A square matrix in its own place: a block holds a tile and its mirror image before
// it writes either. Row i of n tiles takes the columns that follow it, cyclically, up to
// half way round. So each pair is taken once, but those half way from each other twice.
extern "C" __global__ void in_place(unsigned int *matrix, unsigned int side)
{
    __shared__ uint4 tiles[2][SIDE][VECTORS];
    unsigned int i = blockIdx.y, distance = blockIdx.x, n = gridDim.y;
    if (2 * distance == n && i >= distance)
        return; // row i - distance has taken this pair
    unsigned int y = i * SIDE, x = (i + distance) % n * SIDE;
    uint4 v[4], mirrored[4];
    read(v, matrix, side, side, x, y);
    read(mirrored, matrix, side, side, y, x);
    turn(tiles[0], v);
    turn(tiles[1], mirrored);
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
