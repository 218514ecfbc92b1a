// Stretches each tile of 16 x 16 pixels so that its values go from 0 to 255:
// out = (in - darkest) * 255 / (brightest - darkest), or 0 if all of the tile are equal.
//
// A block of 16 x 16 threads for each tile. Rows have `width` pixels. The kernel is to be
//
// extern "C" __global__ void contrast(const unsigned int *in, unsigned int *out, int width,
//                                     int height)
