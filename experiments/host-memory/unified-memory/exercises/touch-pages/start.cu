// touched[p] = the first byte of the array in piece p. A piece is 64 KiB of memory, and begins at
// a multiple of 64 KiB. The array has `bytes` bytes, and begins `offset` bytes into its first piece.
//
// At least as many threads as there are pieces, 64 in a block.

#define PIECE 65536

extern "C" __global__ void touch(const unsigned char *array, unsigned char *touched,
                                 unsigned int bytes, unsigned int offset)
{
    unsigned int piece = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int pieces = (bytes + PIECE - 1) / PIECE;
    if (piece < pieces)
        touched[piece] = array[piece * PIECE];
}
