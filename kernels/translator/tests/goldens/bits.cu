// Bits of numbers of all sizes: turned, swapped, counted and compared.
extern "C" __global__ void bits(const unsigned char *bytes, const unsigned short *shorts,
                                unsigned long long *out)
{
    int t = threadIdx.x;
    unsigned char b = bytes[t], c = bytes[31 - t];
    unsigned short s = shorts[t], r = shorts[31 - t];
    unsigned w = s << 16 | r;
    unsigned long long l = (unsigned long long)w << 32 | ~w;
    unsigned char turned = b << 3 | b >> 5;
    unsigned short other = s << 5 | s >> 11, swapped = r << 8 | r >> 8;
    unsigned word = w >> 24 | (w >> 8 & 0xff00) | (w << 8 & 0xff0000) | w << 24;
    out[8 * t] = turned;
    out[8 * t + 1] = other;
    out[8 * t + 2] = swapped;
    out[8 * t + 3] = word;
    out[8 * t + 4] = __builtin_bswap64(l);
    out[8 * t + 5] = __popc(b) + (__clz(c) << 8) + (__ffs(c) << 16);
    out[8 * t + 6] = __popc(s) + (__clz(r) << 8) + (__ffs(r) << 16);
    int order = (b > c) - (b < c), own = ((int)w > 7) - ((int)w < 7);
    int wide = (w > 99u * s) - (w < 99u * s);
    out[8 * t + 7] = (order + 1) + (own + 1) * 4 + (wide + 1) * 16;
}
