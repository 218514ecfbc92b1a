// compute: 8.0
// Kernels that use a value that means nothing, and kernels that only have one. `in` has 128
// words, of which nobody has written the last 64; all of `out` is zero. Nobody has written
// `fresh`. Each runs on one block of 32 threads.

#define KERNEL extern "C" __global__ void
typedef unsigned int word;
#define ALL 0xffffffffu

struct Padded {
    double number;
    word index;
};

// Wrong.

KERNEL stored(const word *in, word *out, word *fresh)
{
    out[threadIdx.x] = in[64 + threadIdx.x];
}

KERNEL computed(const word *in, word *out, word *fresh)
{
    word next = in[threadIdx.x + 33];
    out[threadIdx.x] = next * 2 + 1;
}

KERNEL decides(const word *in, word *out, word *fresh)
{
    if (in[64 + threadIdx.x] > 7)
        out[threadIdx.x] = clock();
}

KERNEL is_an_index(const word *in, word *out, word *fresh)
{
    out[in[64 + threadIdx.x]] = 1;
}

KERNEL added_atomically(const word *in, word *out, word *fresh)
{
    atomicAdd(out, in[64 + threadIdx.x]);
}

KERNEL counts_from_nothing(const word *in, word *out, word *fresh)
{
    atomicAdd(fresh, 1);
}

KERNEL exchanged_and_used(const word *in, word *out, word *fresh)
{
    out[threadIdx.x] = atomicExch(&fresh[threadIdx.x], 1);
}

KERNEL through_a_shuffle(const word *in, word *out, word *fresh)
{
    word mine = in[48 + threadIdx.x];
    out[threadIdx.x] = __shfl_xor_sync(ALL, mine, 16);
}

KERNEL a_vote(const word *in, word *out, word *fresh)
{
    out[threadIdx.x] = __any_sync(ALL, in[60 + threadIdx.x] == 3);
}

KERNEL shared_edge(const word *in, word *out, word *fresh)
{
    __shared__ word tile[33];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x] + tile[threadIdx.x + 1];
}

KERNEL a_local_array(const word *in, word *out, word *fresh)
{
    word values[8];
    for (word i = 0; i < in[1] % 4 + 1; i++)
        values[i] = in[i];
    out[threadIdx.x] = values[in[threadIdx.x] % 8];
}

KERNEL a_local_sum(const word *in, word *out, word *fresh)
{
    word bins[16];
    for (word i = 0; i < 32; i++)
        bins[in[i] % 16]++;
    out[threadIdx.x] = bins[threadIdx.x % 16];
}

// Half of the warp shuffles.
KERNEL from_the_other_half(const word *in, word *out, word *fresh)
{
    word mine = in[threadIdx.x];
    if (threadIdx.x < 16)
        out[threadIdx.x] = __shfl_down_sync(0xffffu, mine, 8);
}

KERNEL a_sum_of_twenty(const word *in, word *out, word *fresh)
{
    if (threadIdx.x >= 20)
        return;
    word sum = in[threadIdx.x];
    for (word distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(ALL, sum, distance);
    if (threadIdx.x == 0)
        *out = sum;
}

KERNEL different_masks(const word *in, word *out, word *fresh)
{
    word mask = threadIdx.x < 16 ? 0x0000ffffu : 0xffffff00u;
    out[threadIdx.x] = __shfl_xor_sync(mask, in[threadIdx.x], 1);
}

KERNEL a_ballot_of_different_masks(const word *in, word *out, word *fresh)
{
    word mask = threadIdx.x == 3 ? 0x0000000fu : ALL;
    out[threadIdx.x] = __ballot_sync(mask, in[threadIdx.x] & 1);
}

// Right.

KERNEL read_and_forgotten(const word *in, word *out, word *fresh)
{
    word next = in[threadIdx.x + 33];
    out[threadIdx.x] = threadIdx.x < 31 ? next : 0;
}

KERNEL computed_and_forgotten(const volatile word *in, word *out, word *fresh)
{
    word sum = in[48 + threadIdx.x] * 3 + 7;
    if (threadIdx.x < 16)
        out[threadIdx.x] = sum;
}

KERNEL padding(const word *in, Padded *out, Padded *fresh)
{
    word t = threadIdx.x;
    fresh[t].number = t;
    fresh[t].index = t;
    Padded mine = fresh[t];
    out[t] = mine;
    out[t].index += (word)out[t].number;
}

KERNEL padding_in_shared_memory(const word *in, Padded *out, Padded *fresh)
{
    __shared__ Padded tile[32];
    word t = threadIdx.x;
    tile[t].number = in[t];
    tile[t].index = t;
    __syncthreads();
    Padded other = tile[31 - t];
    __syncthreads();
    tile[t] = other;
    __syncthreads();
    out[t] = tile[t];
}

KERNEL exchanged_first(const word *in, word *out, word *fresh)
{
    atomicExch(&fresh[threadIdx.x], in[threadIdx.x]);
    out[threadIdx.x] = fresh[threadIdx.x];
}

KERNEL a_sum_of_sixteen(const word *in, word *out, word *fresh)
{
    if (threadIdx.x >= 16)
        return;
    word sum = in[threadIdx.x];
    for (word distance = 8; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffu, sum, distance);
    if (threadIdx.x == 0)
        *out = sum;
}

KERNEL only_from_who_is_there(const word *in, word *out, word *fresh)
{
    word t = threadIdx.x;
    if (t >= 20)
        return;
    word sum = in[t];
    for (word distance = 16; distance > 0; distance /= 2) {
        word other = __shfl_down_sync(0xfffffu, sum, distance);
        sum = t + distance < 20 ? sum + other : sum;
    }
    if (t == 0)
        *out = sum;
}

KERNEL masks_of_halves(const word *in, word *out, word *fresh)
{
    word mask = threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u;
    out[threadIdx.x] = __shfl_xor_sync(mask, in[threadIdx.x], 1);
}

KERNEL a_local_array_that_is_set(const word *in, word *out, word *fresh)
{
    word values[8];
    for (word i = 0; i < 8; i++)
        values[i] = in[i + threadIdx.x];
    out[threadIdx.x] = values[in[threadIdx.x] % 8];
}

KERNEL a_part_of_a_local_array(const word *in, word *out, word *fresh)
{
    word stack[16], top = 0;
    for (word i = 0; i < 10; i++)
        if (in[i + threadIdx.x] % 3 == 0)
            stack[top++] = i;
    word sum = 0;
    while (top > 0)
        sum += stack[--top];
    out[threadIdx.x] = sum;
}
