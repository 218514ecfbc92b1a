// sum[i] = a[i] + b[i] + c[i], for each element.
//
// There are as many threads as elements.

extern "C" __global__ void add(const float *a, const float *b, const float *c, float *sum)
{
    unsigned int i = 0; // the same for all
    sum[i] = a[i] + b[i] + c[i];
}
