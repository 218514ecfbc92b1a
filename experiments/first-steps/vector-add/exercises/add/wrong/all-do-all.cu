// sum[i] = a[i] + b[i] + c[i], for each element.

extern "C" __global__ void add(const float *a, const float *b, const float *c, float *sum)
{
    for (unsigned int i = 0; i < blockDim.x; i++)
        sum[i] = a[i] + b[i] + c[i];
}
