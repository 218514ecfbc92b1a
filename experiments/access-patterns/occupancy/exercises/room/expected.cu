// What every number of `out` has to be: four to a pixel.
extern "C" __global__ void expected(const unsigned int *in, unsigned int *out, unsigned int count)
{
    unsigned int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= 4 * count)
        return;
    unsigned int pixel = at / 4, sum = 0;
    for (unsigned int before = pixel / 256 * 256; before <= pixel; before++)
        sum += in[4 * before + at % 4];
    out[at] = sum;
}
