// out[i] = in[i - 4] + … + in[i + 4]; elements before in[0] and after in[n - 1] count as 0.
//
// Blocks have 256 threads, and there is a thread for each element.

#define RADIUS 4

extern "C" __global__ void stencil(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    float sum = 0;
    for (int k = -RADIUS; k <= RADIUS; k++)
        if (i + k >= 0 && i + k < n)
            sum += in[i + k];
    out[i] = sum;
}
