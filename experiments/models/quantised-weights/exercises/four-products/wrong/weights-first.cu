// out[row] = the sum of weight * number, over `words` words of eight weights each. A warp has
// a row, and a block 8 warps.

extern "C" __global__ void product(const unsigned *weights, const unsigned *x, int *out,
                                   int rows, int words)
{
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;

    int sum = 0;
    for (int i = lane; i < words; i += 32) {
        unsigned word = weights[row * words + i];
        unsigned even = x[2 * i], odd = x[2 * i + 1];
        for (int k = 0; k < 8; k += 4) {
            int four = 0;
            for (int n = k; n < k + 4; n++)
                four |= (word >> 4 * n & 15) << 8 * (n - k) + 4;
            sum = __dp4a(four, (int)(k == 0 ? even : odd), sum);
        }
    }

    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, step);
    if (lane == 0)
        out[row] = sum / 16;
}
