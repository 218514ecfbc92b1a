// sum[i] = a[i] + b[i] + c[i], for each element.
//
// There are as many threads as elements.

extern "C" __global__ void add(const float *a, const float *b, const float *c, float *sum)
{
    unsigned int i = blockIdx.x; // each thread's own
    sum[i] = a[i] + b[i] + c[i];
}
