// Stretches each tile of 16 x 16 pixels so that its values go from 0 to 255:
// out = (in - darkest) * 255 / (brightest - darkest), or 0 if all of the tile are equal.
//
// A block of 16 x 16 threads for each tile. Rows have `width` pixels.

#define SIDE 16
#define WARPS (SIDE * SIDE / 32)

extern "C" __global__ void contrast(const unsigned int *in, unsigned int *out, int width,
                                    int height)
{
    __shared__ unsigned int low[WARPS], high[WARPS];

    int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
    bool inside = x < width && y < height;
    unsigned int value = inside ? in[y * width + x] : 0;

    // What is outside must not be the darkest, nor the brightest.
    unsigned int darkest = inside ? value : 255, brightest = inside ? value : 0;
    for (int distance = 16; distance > 0; distance /= 2) {
        darkest = min(darkest, __shfl_xor_sync(0xFFFFFFFF, darkest, distance));
        brightest = max(brightest, __shfl_xor_sync(0xFFFFFFFF, brightest, distance));
    }

    int thread = threadIdx.y * SIDE + threadIdx.x;
    if (thread % 32 == 0) {
        low[thread / 32] = darkest;
        high[thread / 32] = brightest;
    }
    __syncthreads(); // those outside have come here as well
    for (int warp = 0; warp < WARPS; warp++) {
        darkest = min(darkest, low[warp]);
        brightest = max(brightest, high[warp]);
    }

    if (inside) {
        unsigned int range = brightest - darkest;
        out[y * width + x] = range > 0 ? (value - darkest) * 255 / range : 0;
    }
}
