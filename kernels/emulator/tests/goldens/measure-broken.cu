// Runs a kernel of ../kernels/broken-kernels.cu on a GPU, and says what came of it:
//
//     nvcc -arch=native -lineinfo -I ../kernels -o broken measure-broken.cu
//     ./broken out_of_bounds
//     compute-sanitizer --tool memcheck ./broken out_of_bounds
//
// broken-kernels-h200.txt is what it said on an H200.

#include <cstdio>
#include <cstring>
#include <vector>

#include "broken-kernels.cu"

static unsigned int word(unsigned int i)
{
    return i * 2654435761u;
}

// Memory of a pool that had another use before, as in a program that runs for long.
static unsigned int *used_before(size_t words)
{
    void *memory;
    cudaMallocAsync(&memory, 4 * words, 0);
    cudaMemsetAsync(memory, 0x5a, 4 * words, 0);
    cudaFreeAsync(memory, 0);
    cudaMallocAsync(&memory, 4 * words, 0);
    return (unsigned int *)memory;
}

int main(int, char **arguments)
{
    const char *kernel = arguments[1];
    auto is = [&](const char *name) { return !strcmp(kernel, name); };
    const unsigned int count = is("out_of_bounds") || is("barrier_not_reached") ? 1000 : 256;
    std::vector<unsigned int> host(count), result(count), right(count);
    for (unsigned int i = 0; i < count; i++)
        host[i] = word(i);
    unsigned int *in, *out, sum = 0;
    cudaMalloc(&in, 4 * count);
    cudaMalloc(&out, 4 * count);
    unsigned int *total = used_before(1);
    cudaMemcpy(in, host.data(), 4 * count, cudaMemcpyHostToDevice);

    unsigned int few = is("shuffle_from_outside") ? 20 : count;
    for (unsigned int i = 0; i < few; i++)
        sum += host[i];
    size_t words = count;
    if (is("out_of_bounds")) {
        out_of_bounds<<<4, 256>>>(in, out, count);
        for (unsigned int i = 0; i < count; i++)
            right[i] = host[i] + 1;
    } else if (is("past_the_tile") || is("unwritten_edge")) {
        if (is("past_the_tile"))
            past_the_tile<<<1, 256>>>(in, out);
        else
            unwritten_edge<<<1, 256>>>(in, out);
        for (unsigned int i = 0; i < count; i++)
            right[i] = host[i] + (i < 255 ? host[i + 1] : 0);
    } else if (is("misaligned")) {
        misaligned<<<1, 63>>>(in, (uint4 *)out);
        words = 252;
        for (unsigned int i = 0; i < words; i++)
            right[i] = host[i + 1];
    } else if (is("unwritten_total")) {
        unwritten_total<<<1, 256>>>(in, total);
        cudaMemcpy(out, total, 4, cudaMemcpyDeviceToDevice);
        words = 1;
        right[0] = sum;
    } else if (is("missing_barrier")) {
        missing_barrier<<<1, 256>>>(in, out);
        words = 1;
        right[0] = sum;
    } else if (is("barrier_not_reached")) {
        barrier_not_reached<<<4, 256>>>(in, out, count);
        for (unsigned int i = 0; i < count; i++)
            right[i] = host[i] - host[i / 256 * 256];
    } else if (is("shuffle_from_outside")) {
        shuffle_from_outside<<<1, 32>>>(in, out, few);
        words = 1;
        right[0] = sum;
    } else if (is("never_unlocked")) {
        cudaMemset(in, 0, 4);
        cudaMemset(out, 0, 4);
        never_unlocked<<<1, 32>>>(in, out);
        words = 1;
        right[0] = 32;
    } else {
        return 1;
    }
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess)
        error = cudaDeviceSynchronize();
    if (error != cudaSuccess) {
        printf("%s: error %d, %s\n", kernel, error, cudaGetErrorString(error));
        return 0;
    }
    cudaMemcpy(result.data(), out, 4 * words, cudaMemcpyDeviceToHost);
    unsigned int wrong = 0;
    for (size_t i = 0; i < words; i++)
        wrong += result[i] != right[i];
    printf("%s: no error, %u of %zu results wrong\n", kernel, wrong, words);
}
