// What every element of `out` has to be.
extern "C" __global__ void expected(const int *in, int *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        int sum = in[i];
        if (i > 0)
            sum += in[i - 1];
        if (i + 1 < count)
            sum += in[i + 1];
        out[i] = sum;
    }
}
