// counts[m] = how many of the marks are m. Marks go from 0 to 10.

extern "C" __global__ void count_marks(
    const unsigned int *marks, unsigned int *counts, unsigned int pupils)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pupils)
        atomicAdd(&counts[marks[i]], 1);
}
