// counts[m] = how many of the marks are m. Marks go from 0 to 10.
//
// A thread for each pupil, in blocks of 256. `counts` is 0 at first.

#define MARKS 10

extern "C" __global__ void count_marks(
    const unsigned int *marks, unsigned int *counts, unsigned int pupils)
{
    __shared__ unsigned int bins[MARKS];

    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < MARKS)
        bins[threadIdx.x] = 0;
    __syncthreads();

    if (i < pupils)
        atomicAdd(&bins[min(marks[i], MARKS - 1)], 1);
    __syncthreads();

    if (threadIdx.x < MARKS)
        atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}
