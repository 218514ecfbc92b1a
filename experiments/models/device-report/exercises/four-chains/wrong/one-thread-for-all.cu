// Word w of the vectors of thread i is at w * count + i: neighbours read neighbouring words.
extern "C" __global__ void dots(
    const int *a, const int *b, int *out, size_t count, unsigned int words)
{
    if (blockIdx.x > 0 || threadIdx.x > 0)
        return;
    for (size_t i = 0; i < count; i++) {
    int sum = 0;
    for (unsigned int w = 0; w < words; w++)
        sum = __dp4a(a[w * count + i], b[w * count + i], sum);
    out[i] = sum;
    }
}
