// What every element of `steps` has to be.
extern "C" __global__ void expected(const int *in, int *steps, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < count)
        steps[i] = in[i + 1] - in[i];
}
