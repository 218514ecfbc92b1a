// What every float has to be: of the eight of a particle, only the first three change.
extern "C" __global__ void expected(float *particles, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 8 * n && i % 8 < 3)
        particles[i] += dt * particles[i + 4];
}
