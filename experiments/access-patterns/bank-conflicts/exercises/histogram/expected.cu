// What every count has to be.
extern "C" __global__ void expected(const unsigned *values, unsigned *counts, int n)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < 16) {
        unsigned count = 0;
        for (int i = 0; i < n; i++)
            count += values[i] == v;
        counts[v] = count;
    }
}
