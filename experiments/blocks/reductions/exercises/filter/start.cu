// out = the even words of `in`, in their order; *kept = how many there are.
//
// A block of 256 threads for each tile of 256 words; the last tile is not full. *ticket, *kept and
// all of `through`, which has a word for each tile, are 0 before. The kernel is to be
//
// extern "C" __global__ void filter(const unsigned int *in, unsigned int *out, unsigned int n,
//                                   unsigned int *kept, unsigned int *ticket,
//                                   unsigned int *through)
