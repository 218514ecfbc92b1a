// What every element of `least` has to be.
extern "C" __global__ void expected(const int *days, int *least, int count)
{
    int block = blockIdx.x * blockDim.x + threadIdx.x;
    if (256 * block >= count)
        return;
    int lowest = days[256 * block];
    for (int i = 256 * block; i < 256 * block + 256 && i < count; i++)
        lowest = min(lowest, days[i]);
    least[block] = lowest;
}
