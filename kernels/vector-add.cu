// Vector addition: a thread for each element.

// ANCHOR: add_threads
extern "C" __global__ void add_threads(const float *a, const float *b, float *sum)
{
    unsigned int i = threadIdx.x;
    sum[i] = a[i] + b[i];
}
// ANCHOR_END: add_threads

// The same in as many blocks as it takes. The last block may have threads without an element.
// ANCHOR: add
extern "C" __global__ void add(
    const float *a, const float *b, float *sum, size_t count)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        sum[i] = a[i] + b[i];
}
// ANCHOR_END: add

// Writes down which thread of which block has each element.
// ANCHOR: who
extern "C" __global__ void who(
    unsigned int *block, unsigned int *thread, size_t count)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        block[i] = blockIdx.x;
        thread[i] = threadIdx.x;
    }
}
// ANCHOR_END: who
