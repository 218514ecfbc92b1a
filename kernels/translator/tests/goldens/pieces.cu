// Structures that lie at fewer bytes than their copies have, and words that are rotated.
struct Pixel {
    unsigned char red, green, blue, alpha;
};
struct Particle {
    float x, y, z;
    int kind;
};

extern "C" __global__ void pieces(const Pixel *in, Pixel *out, Particle *particles,
                                  unsigned long long *words, int by)
{
    int t = threadIdx.x;
    out[t] = in[31 - t];
    Particle particle = particles[t];
    particle.x += 0.5f;
    particle.kind += 100;
    particles[32 + t] = particle;
    unsigned long long word = words[t];
    words[t] = (word << 7 | word >> 57) ^ (word >> by | word << (64 - by));
}
