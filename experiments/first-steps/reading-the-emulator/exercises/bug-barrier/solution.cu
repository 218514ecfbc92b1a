// ahead[i] = how many elements are smaller than in[i].
//
// A thread for each element, in blocks of 256.

extern "C" __global__ void rank(
    const unsigned int *in, unsigned int *ahead, unsigned int count)
{
    __shared__ unsigned int piece[256];

    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * 256 + t;
    unsigned int mine = i < count ? in[i] : 0;
    unsigned int smaller = 0;
    for (unsigned int first = 0; first < count; first += 256) {
        if (first + t < count)
            piece[t] = in[first + t];
        __syncthreads(); // the piece is complete

        for (unsigned int k = 0; k < 256 && first + k < count; k++)
            if (piece[k] < mine)
                smaller++;
        __syncthreads(); // no thread needs it any more
    }
    if (i < count)
        ahead[i] = smaller;
}
