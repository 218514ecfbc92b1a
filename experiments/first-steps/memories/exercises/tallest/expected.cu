// What every element of `tallest` has to be.
extern "C" __global__ void expected(const unsigned int *heights, unsigned int *tallest, unsigned int n)
{
    unsigned int row = blockIdx.x * blockDim.x + threadIdx.x, most = 0;
    for (unsigned int i = 256 * row; i < 256 * row + 256 && i < n; i++)
        most = max(most, heights[i]);
    if (256 * row < n)
        tallest[row] = most;
}
