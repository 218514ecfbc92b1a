// What the total has to be.
extern "C" __global__ void expected(const float *in, float *total, int n)
{
    if (blockIdx.x * blockDim.x + threadIdx.x == 0) {
        double sum = 0;
        for (int i = 0; i < n; i++)
            sum += in[i];
        *total = (float)sum;
    }
}
