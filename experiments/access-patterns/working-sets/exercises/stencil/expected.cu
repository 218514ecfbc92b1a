// What every element of `out` has to be.
extern "C" __global__ void expected(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double sum = 0;
        for (int k = -4; k <= 4; k++)
            if (i + k >= 0 && i + k < n)
                sum += in[i + k];
        out[i] = (float)sum;
    }
}
