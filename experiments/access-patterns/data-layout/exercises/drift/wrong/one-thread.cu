// One thread of each block moves all its particles.
//
// Moves n particles: their positions become position + dt * velocity.
// A particle has eight floats: position, mass, velocity, charge.

extern "C" __global__ void drift(float *particles, float dt, int n)
{
    if (threadIdx.x != 0)
        return;

    int first = blockIdx.x * blockDim.x;
    for (int i = first; i < first + blockDim.x && i < n; i++) {
        float4 *halves = (float4 *)particles + 2 * i;
        float4 position = halves[0], velocity = halves[1];
        position.x += dt * velocity.x;
        position.y += dt * velocity.y;
        position.z += dt * velocity.z;
        halves[0] = position;
    }
}
