// out[column][row] = in[row][column]: one thread of each block does it, so none has neighbours.

#define SIDE 32

extern "C" __global__ void transpose(const float *in, float *out, int rows, int columns)
{
    if (threadIdx.x != 0 || threadIdx.y != 0)
        return;

    for (int i = 0; i < SIDE * SIDE; i++) {
        int row = blockIdx.y * SIDE + i / SIDE;
        int column = blockIdx.x * SIDE + i % SIDE;
        if (row < rows && column < columns)
            out[column * rows + row] = in[row * columns + column];
    }
}
