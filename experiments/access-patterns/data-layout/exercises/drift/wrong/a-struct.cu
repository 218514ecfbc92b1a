// Moves n particles: their positions become position + dt * velocity.

struct Particle {
    float x, y, z, mass, vx, vy, vz, charge;
};

extern "C" __global__ void drift(Particle *particles, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    Particle particle = particles[i];
    particle.x += dt * particle.vx;
    particle.y += dt * particle.vy;
    particle.z += dt * particle.vz;
    particles[i] = particle;
}
