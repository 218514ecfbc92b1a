// What every element of `counts` has to be.
extern "C" __global__ void expected(
    const unsigned int *marks, unsigned int *counts, unsigned int pupils)
{
    unsigned int mark = blockIdx.x * blockDim.x + threadIdx.x;
    if (mark > 10)
        return;
    unsigned int count = 0;
    for (unsigned int i = 0; i < pupils; i++)
        if (marks[i] == mark)
            count++;
    counts[mark] = count;
}
