// Values that change places in a loop, ways that meet, and a choice among many.
__device__ unsigned int odd(unsigned int a)
{
    return a * 3 +
        1;
}

extern "C" __global__ void flow(unsigned int *out, const unsigned int *in, unsigned int count)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    unsigned int a = in[i], b = i + 1;
    while (b != 0) {
        unsigned int rest = a % b;
        a = b;
        b = rest;
    }
    unsigned int steps = 0;
    for (unsigned int n = i + 1; n != 1 && steps < 100; steps++)
        n = n % 2 == 0 ? n / 2 : odd(n);
    switch (i % 8) {
    case 1: steps += 1000; break;
    case 2: steps ^= a; break;
    case 5: steps = a; break;
    default: steps *= 2;
    }
    out[2 * i] = a;
    out[2 * i + 1] = steps;
}
