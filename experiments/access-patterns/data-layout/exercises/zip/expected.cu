// What every element of `particles` has to be.
extern "C" __global__ void expected(const float *arrays, float *particles, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < 7 * n)
        particles[at] = arrays[at % 7 * n + at / 7];
}
