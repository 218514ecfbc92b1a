// What best[0] and best[1] have to be.
extern "C" __global__ void expected(
    const unsigned int *in, unsigned int *best, unsigned int count)
{
    unsigned int place = 0;
    for (unsigned int i = 0; i < count; i++)
        if (in[i] > in[place])
            place = i;
    unsigned int which = blockIdx.x * blockDim.x + threadIdx.x;
    if (which < 2)
        best[which] = which == 0 ? in[place] : place;
}
