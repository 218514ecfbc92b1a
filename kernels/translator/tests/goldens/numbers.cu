// Integers of all sizes, and numbers with a point.
extern "C" __global__ void numbers(
    const signed char *bytes, const unsigned short *shorts, long long *out, float *floats)
{
    unsigned int t = threadIdx.x;
    signed char b = bytes[t];
    unsigned short s = shorts[t];
    signed char sum = b + (signed char)s;
    unsigned char product = (unsigned char)b * (unsigned char)s;
    long long wide = (long long)b * (int)s;
    out[8 * t] = sum;
    out[8 * t + 1] = product / 3;
    out[8 * t + 2] = wide >> (t & 7);
    out[8 * t + 3] = (long long)((unsigned long long)wide / 7);
    out[8 * t + 4] = __popc(s) + (__clz(s) << 8) + (__ffs(s) << 16);
    out[8 * t + 5] = min(b, 3) * max((int)t, 5) - abs((int)b);
    out[8 * t + 6] = (long long)__umul64hi((unsigned long long)wide, 0x9e3779b97f4a7c15ull);
    out[8 * t + 7] = __brev(s) ^ __byte_perm(s, (unsigned)b, 0x5410);
    float f = s, g = b;
    floats[4 * t] = f * g + 0.5f;
    floats[4 * t + 1] = f * 3 - g * g;
    floats[4 * t + 2] = fmaxf(sqrtf(f), g) + rintf(g * 0.3f) + (b > 0 ? -f : f / 3);
    floats[4 * t + 3] = expf(g * 0.01f) + (float)(int)(g * 1.7f);
}
