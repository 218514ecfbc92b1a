// What every element of `begins` has to be.
extern "C" __global__ void expected(
    const unsigned int *in, unsigned int *begins, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        begins[i] = i == 0 || in[i] != in[i - 1];
}
