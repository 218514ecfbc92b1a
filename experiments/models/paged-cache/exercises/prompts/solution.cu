// Stores the keys of each request's prompt: block r, a thread for each of a key's 64 floats.
//
// prompts  a row of `row` * 16 keys for each request, of which the first lengths[r] count
// next     the first free page; 0 before
// table    a row for each request: its pages
// cache    pages of 16 keys

#define PAGE 16
#define KEY 64

extern "C" __global__ void store(const float *prompts, const unsigned *lengths, unsigned *next,
                                 unsigned *table, float *cache, unsigned row)
{
    unsigned request = blockIdx.x, length = lengths[request];

    __shared__ unsigned first;
    if (threadIdx.x == 0) {
        // Those that the prompt fills, and the one that it begins.
        unsigned pages = (length + PAGE - 1) / PAGE;
        first = atomicAdd(next, pages);
        for (unsigned p = 0; p < pages; p++)
            table[request * row + p] = first + p;
    }
    __syncthreads(); // the others read `first` below

    for (unsigned token = 0; token < length; token++)
        cache[(first * PAGE + token) * KEY + threadIdx.x] =
            prompts[(request * row * PAGE + token) * KEY + threadIdx.x];
}

// ------------------------------------------------- This is for the check: leave it as it is.

// The keys as the table says where they are.
extern "C" __global__ void look(const unsigned *lengths, const unsigned *table,
                                const float *cache, float *found, unsigned row)
{
    unsigned request = blockIdx.x, length = lengths[request];
    for (unsigned token = 0; token < row * PAGE; token++) {
        float value = 0;
        if (token < length) {
            unsigned page = table[request * row + token / PAGE];
            value = cache[(page * PAGE + token % PAGE) * KEY + threadIdx.x];
        }
        found[(request * row * PAGE + token) * KEY + threadIdx.x] = value;
    }
}
