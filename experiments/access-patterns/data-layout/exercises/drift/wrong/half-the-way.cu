// Moves n particles: their positions become position + dt * velocity.
// A particle has eight floats: position, mass, velocity, charge.

extern "C" __global__ void drift(float *particles, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    // Particles begin at multiples of 32 bytes, so both halves begin at multiples of 16.
    float4 *halves = (float4 *)particles + i;
    float4 position = halves[0], velocity = halves[1];
    position.x += dt * velocity.x;
    position.y += dt * velocity.y;
    position.z += dt * velocity.z;

    // The mass goes back as it came: one wide store is better than three narrow ones.
    halves[0] = position;
}
