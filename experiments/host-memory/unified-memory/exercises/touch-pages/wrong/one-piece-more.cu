// touched[p] = the first byte of the array in piece p.

#define PIECE 65536

extern "C" __global__ void touch(const unsigned char *array, unsigned char *touched,
                                 unsigned int bytes, unsigned int offset)
{
    unsigned int piece = blockIdx.x * blockDim.x + threadIdx.x;
    // The array ends `offset` bytes later in memory than it would if it began with a piece.
    unsigned int pieces = (offset + bytes) / PIECE + 1;
    if (piece >= pieces)
        return;
    // Piece 0 begins before the array, so there it is the array's own first byte.
    touched[piece] = array[piece == 0 ? 0 : piece * PIECE - offset];
}
