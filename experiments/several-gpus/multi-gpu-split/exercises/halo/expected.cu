// What the words of a part have to be. `in` begins with the halo, if there is one.
extern "C" __global__ void expected(const float *in, float *out, int words, int before, int after)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= words)
        return;
    int place = before + i, all = before + words + after;
    double left = in[place > 0 ? place - 1 : 0];
    double right = in[place < all - 1 ? place + 1 : all - 1];
    out[i] = (left + in[place] + right) / 3;
}
