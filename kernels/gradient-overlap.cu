// An all-reduce in place, by plain launches, where there is no NCCL.

constexpr unsigned MOST_GPUS = 8;

struct OnEach {
    unsigned long long at[MOST_GPUS];
};

// ANCHOR: sum
// Elements `first` to `first + count` of all GPUs' gradients become their sum. Each GPU does
// this for its part of them: it reads the part from all GPUs, and writes the sum to all. The
// host's events see to it that all gradients are there before.
extern "C" __global__ void sum(OnEach gradients, size_t first, size_t count,
                               unsigned rank, unsigned gpus)
{
    size_t part = (count + gpus - 1) / gpus, begin = rank * part, end = begin + part;
    if (end > count)
        end = count;
    for (size_t i = begin + (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < end;
         i += (size_t)gridDim.x * blockDim.x) {
        float total = 0;
#pragma unroll
        for (unsigned gpu = 0; gpu < MOST_GPUS; gpu++)
            if (gpu < gpus)
                total += ((const float *)gradients.at[gpu])[first + i];
#pragma unroll
        for (unsigned gpu = 0; gpu < MOST_GPUS; gpu++)
            if (gpu < gpus)
                ((float *)gradients.at[gpu])[first + i] = total;
    }
}
// ANCHOR_END: sum
