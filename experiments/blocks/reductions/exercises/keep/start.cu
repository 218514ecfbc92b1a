// What is not 0 among a warp's 32 numbers goes to the beginning of its places in `out`, and
// how many that are to kept[warp]. What is behind them in `out` stays as it is.
//
// A thread for each of the n numbers, in blocks of 256.

extern "C" __global__ void keep(
    const unsigned int *in, unsigned int *out, unsigned int *kept, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32, first = i - lane;
    unsigned int value = i < n ? in[i] : 0;

    int place = 0;
    for (int k = first; k < i && k < n; k++)
        place += in[k] != 0;

    if (value != 0)
        out[first + place] = value;
    if (lane == 31 && first < n)
        kept[i / 32] = place + (value != 0);
}
