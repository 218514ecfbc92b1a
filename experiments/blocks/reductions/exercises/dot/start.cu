// *result = the sum of a[i] * b[i] for all i below n. *result is 0 before.
//
// 64 blocks of 256 threads for any n. The kernel is to be
//
// extern "C" __global__ void dot(const float *a, const float *b, float *result, unsigned int n)
