// What is not 0 among a warp's 32 numbers goes to the beginning of its places in `out`, and
// how many that are to kept[warp].

extern "C" __global__ void keep(
    const unsigned int *in, unsigned int *out, unsigned int *kept, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32, first = i - lane;
    unsigned int value = i < n ? in[i] : 0;

    // All lanes vote. A lane's place is the number of votes below its own bit.
    unsigned int votes = __ballot_sync(0xffffffff, value != 0);
    int place = __popc(votes & ((1u << lane) - 1));

    if (value != 0)
        out[first + place] = value;
    if (lane == 31 && first < n)
        kept[i / 32] = __popc(votes);
}
