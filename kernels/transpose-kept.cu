// compute: 8.0
// `downwards` of transpose.cu, with an eviction hint: the L2 cache is to keep what was
// read longer than what was written. GPUs of compute capability 8.0 or higher support
// eviction hints.

typedef unsigned long long u64;

// As in transpose.cu.
const unsigned int SIDE = 64, VECTORS = SIDE / 4;

// ANCHOR: read
// Each thread reads 4 × 4 elements of a tile, with loads after which the L2 cache should
// replace these lines last.
__device__ void read_and_keep(uint4 v[4], const unsigned int *in, unsigned int width,
                              unsigned int height, unsigned int x, unsigned int y)
{
    u64 policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(policy));
    x += threadIdx.x % VECTORS * 4;
    y += threadIdx.x / VECTORS * 4;
    for (int k = 0; k < 4; k++)
        if (x < width && y < height)
            asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                         : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w)
                         : "l"(&in[(size_t)(y + k) * width + x]), "l"(policy));
}
// ANCHOR_END: read

// As in transpose.cu.
__device__ void turn(uint4 tile[SIDE][VECTORS], const uint4 v[4])
{
    unsigned int column = threadIdx.x % VECTORS, row = threadIdx.x / VECTORS;
    unsigned int place = row ^ column % 8;
    tile[4 * column + 0][place] = make_uint4(v[0].x, v[1].x, v[2].x, v[3].x);
    tile[4 * column + 1][place] = make_uint4(v[0].y, v[1].y, v[2].y, v[3].y);
    tile[4 * column + 2][place] = make_uint4(v[0].z, v[1].z, v[2].z, v[3].z);
    tile[4 * column + 3][place] = make_uint4(v[0].w, v[1].w, v[2].w, v[3].w);
}

// As in transpose.cu.
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

extern "C" __global__ void downwards_kept(const unsigned int *in, unsigned int *out,
                                          unsigned int width, unsigned int height)
{
    __shared__ uint4 tile[SIDE][VECTORS];
    unsigned int left = blockIdx.y * SIDE, top = blockIdx.x * SIDE;
    uint4 v[4];
    read_and_keep(v, in, width, height, left, top);
    turn(tile, v);
    __syncthreads();
    write(tile, out, height, width, top, left);
}
