// begin[i] = where in the heap thread i has sizes[i] words of its own. *top is 0 before.

#define WARPS 8

// The sum of the values of this lane and all before it.
__device__ unsigned int sum_so_far(unsigned int value)
{
    for (int step = 1; step < 32; step *= 2) {
        unsigned int before = __shfl_up_sync(0xFFFFFFFF, value, step);
        if (threadIdx.x % 32 >= step)
            value += before;
    }
    return value;
}

extern "C" __global__ void allocate(const unsigned int *sizes, unsigned int *begin,
                                    unsigned int *top, unsigned int n)
{
    __shared__ unsigned int of_warp[WARPS]; // what each warp needs, and then where its part begins

    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int size = i < n ? sizes[i] : 0;
    unsigned int end = sum_so_far(size);
    int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 31)
        of_warp[warp] = end;
    __syncthreads();

    if (threadIdx.x == 0) {
        unsigned int all = 0;
        for (int w = 0; w < WARPS; w++)
            all += of_warp[w];
        unsigned int place = atomicAdd(top, all);
        for (int w = 0; w < WARPS; w++) {
            unsigned int words = of_warp[w];
            of_warp[w] = place;
            place += words;
        }
    }
    __syncthreads();

    if (i < n)
        begin[i] = of_warp[warp] + end - size;
}

// ------------------------------------------------- This is for the check: leave it as it is.

// Each thread writes its number into all of its words.
extern "C" __global__ void fill(const unsigned int *sizes, const unsigned int *begin,
                                unsigned int *heap, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int size = i < n ? sizes[i] : 0, first = i < n ? begin[i] : 0;
    for (unsigned int word = 0; word < size; word++)
        heap[first + word] = i;
}

// kept[i] = how many words of thread i still have its number.
extern "C" __global__ void look(const unsigned int *sizes, const unsigned int *begin,
                                const unsigned int *heap, unsigned int *kept, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned int count = 0, size = sizes[i], first = begin[i];
    for (unsigned int word = 0; word < size; word++)
        count += heap[first + word] == i;
    kept[i] = count;
}
