// Word w of the vectors of thread i is at w * count + i: neighbours read neighbouring words.
extern "C" __global__ void dots(
    const int *a, const int *b, int *out, size_t count, unsigned int words)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    int sum = 0;
    for (unsigned int w = 0; w < words; w++) {
        int x = a[w * count + i], y = b[w * count + i];
        for (int byte = 0; byte < 4; byte++) {
            signed char p = x >> (8 * byte), q = y >> (8 * byte);
            sum += p * q;
        }
    }
    out[i] = sum;
}
