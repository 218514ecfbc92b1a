// Word w of the vectors of thread i is at w * count + i: neighbours read neighbouring words.
extern "C" __global__ void dots(
    const int *a, const int *b, int *out, size_t count, unsigned int words)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    int sum = 0;
    for (unsigned int w = 0; w < words; w++)
        sum += a[w * count + i] * b[w * count + i];
    out[i] = sum;
}
