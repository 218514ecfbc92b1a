// best[0] = the greatest element, best[1] = its place. No two elements are the same.
//
// A thread for each element, in blocks of 32. `lock` and `best` are 0 at first. (`volatile`: it is
// read from memory each time.)

extern "C" __global__ void find_best(
    const unsigned int *in, volatile unsigned int *best, unsigned int *lock,
    unsigned int count)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    while (atomicCAS(lock, 0, 1) != 0)
        ;
    __threadfence(); // this thread sees the best of the one that had the lock before
    if (in[i] > best[0]) {
        best[0] = in[i];
        best[1] = i;
        __threadfence(); // whoever takes the lock next sees this best
        atomicExch(lock, 0);
    }
}
