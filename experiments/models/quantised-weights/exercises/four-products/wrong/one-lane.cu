// out[row] = the sum of weight * number, over `words` words of eight weights each. A warp has
// a row, and a block 8 warps.

extern "C" __global__ void product(const unsigned *weights, const unsigned *x, int *out,
                                   int rows, int words)
{
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;

    int sum = 0;
    for (int i = 0; i < words && lane == 0; i++) {
        unsigned word = weights[row * words + i];
        unsigned even = x[2 * i], odd = x[2 * i + 1];
        sum = __dp4a((int)(word << 4 & 0xf0f0f0f0), (int)even, sum);
        sum = __dp4a((int)(word & 0xf0f0f0f0), (int)odd, sum);
    }

    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, step);
    if (lane == 0)
        out[row] = sum / 16;
}
