// What is kept from one turn of a loop for the next, and has no value before the first.
extern "C" __global__ void later(const int* in, int* out, int n) {
    int previous;
    for (int i = 0; i < n; i++) {
        int value = in[32 * i + threadIdx.x];
        if (value % 2 == 0) out[32 * i + threadIdx.x] = previous - value;
        previous = value;
    }
}
