extern "C" __global__ void expected(
    const int *a, const int *b, int *out, size_t count, unsigned int words)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    int sum = 0;
    for (unsigned int w = 0; w < words; w++)
        for (int byte = 0; byte < 4; byte++) {
            signed char p = a[w * count + i] >> (8 * byte);
            signed char q = b[w * count + i] >> (8 * byte);
            sum += (int)p * (int)q;
        }
    out[i] = sum;
}
