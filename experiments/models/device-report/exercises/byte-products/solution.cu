// Word w of the vectors of thread i is at w * count + i: neighbours read neighbouring words.
extern "C" __global__ void dots(
    const int *a, const int *b, int *out, size_t count, unsigned int words)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    int sum = 0;
    for (unsigned int w = 0; w < words; w++)
        // Four products of signed bytes, and the sum so far: one instruction.
        sum = __dp4a(a[w * count + i], b[w * count + i], sum);
    out[i] = sum;
}
