// begins[i] = 1 if in[i] differs from in[i - 1], or if there is none; otherwise 0.
//
// A thread for each element, in blocks of 256.

extern "C" __global__ void runs(
    const unsigned int *in, unsigned int *begins, unsigned int count)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int lane = threadIdx.x % 32;

    unsigned int mine = i < count ? in[i] : 0;
    unsigned int before = 0;
    if (lane > 0)
        before = __shfl_up_sync(0xffffffff, mine, 1);
    else if (i > 0 && i < count)
        before = in[i - 1];

    if (i < count)
        begins[i] = i == 0 || mine != before;
}
