// What every element of `out` has to be.
extern "C" __global__ void expected(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double sum = 0;
        for (int k = i / 8 * 8; k <= i; k++)
            sum += in[k];
        out[i] = (float)sum;
    }
}
