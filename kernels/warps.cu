// An `if` that sends the threads of a warp to the same side, or to both.

// Neighbouring threads go to the same side in groups of `group`. Both sides take as long.
// ANCHOR: sides
extern "C" __global__ void sides(
    unsigned int *out, unsigned int group, unsigned int steps)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int x = i;
    if (i / group % 2 == 0) {
        #pragma unroll 1
        for (unsigned int step = 0; step < steps; step++)
            x = 3 * x + 1;
    } else {
        #pragma unroll 1
        for (unsigned int step = 0; step < steps; step++)
            x = 5 * x + 2;
    }
    out[i] = x;
}
// ANCHOR_END: sides
