extern "C" __global__ void expected(const unsigned *weights, const unsigned *x, int *out,
                                    int rows, int words)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    int sum = 0;
    for (int c = 0; c < 8 * words; c++) {
        int weight = weights[row * words + c / 8] >> c % 8 * 4 & 15;
        int number = x[c / 8 * 2 + c % 2] >> c % 8 / 2 * 8 & 255;
        sum += (weight > 7 ? weight - 16 : weight) * (number > 127 ? number - 256 : number);
    }
    out[row] = sum;
}
