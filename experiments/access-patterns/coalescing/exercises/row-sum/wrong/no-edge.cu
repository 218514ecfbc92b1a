// sums[row] = in[row][0] + in[row][1] + … + in[row][columns - 1].

#define ROWS 256

extern "C" __global__ void row_sums(const float *in, float *sums, int rows, int columns)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    // Each of the block's eight warps takes every eighth of its rows.
    for (int k = warp; k < ROWS; k += blockDim.x / 32) {
        int row = blockIdx.x * ROWS + k;

        // The lanes read neighbours. A lane adds up every 32nd element of the row.
        float sum = 0;
        for (int column = lane; column < columns; column += 32)
            sum += in[row * columns + column];

        // All lanes are back here. 32 sums become 16, 8, 4, 2, 1.
        for (int step = 16; step > 0; step /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, step);
        if (lane == 0)
            sums[row] = sum;
    }
}
