// Moves n particles: their positions become position + dt * velocity.
//
// A particle has eight floats:
//   0 1 2    position x, y, z
//   3        mass
//   4 5 6    velocity x, y, z
//   7        charge
// Blocks have 256 threads, and there is a thread for each particle.

extern "C" __global__ void drift(float *particles, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    float *particle = particles + 8 * i;
    for (int axis = 0; axis < 3; axis++)
        particle[axis] += dt * particle[4 + axis];
}
