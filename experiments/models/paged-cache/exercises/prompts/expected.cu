#define PAGE 16
#define KEY 64

// The prompts, and zeros behind them.
extern "C" __global__ void expected(const float *prompts, const unsigned *lengths, float *found,
                                    unsigned n, unsigned row)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * row * PAGE * KEY)
        return;
    unsigned key = i / KEY, request = key / (row * PAGE), token = key % (row * PAGE);
    found[i] = token < lengths[request] ? prompts[i] : 0;
}

// The pages that all prompts need.
extern "C" __global__ void needed(const unsigned *lengths, unsigned *next, unsigned n)
{
    if (blockIdx.x * blockDim.x + threadIdx.x > 0)
        return;
    unsigned pages = 0;
    for (unsigned request = 0; request < n; request++)
        pages += (lengths[request] + PAGE - 1) / PAGE;
    *next = pages;
}
