// All look, and one thread gives out the places.
extern "C" __global__ void list_free(const unsigned int *used, unsigned int n,
                                     unsigned int *free, unsigned int *count)
{
    __shared__ unsigned int places[1024], found;
    if (threadIdx.x == 0)
        found = 0;
    for (unsigned int chunk = 0; chunk < n; chunk += 1024) {
        unsigned int i = chunk + threadIdx.x;
        bool is_free = i < n && used[i] == 0;
        places[threadIdx.x] = is_free;
        __syncthreads();
        if (threadIdx.x == 0)
            for (int t = 0; t < 1024; t++) {
                unsigned int one = places[t];
                places[t] = found;
                found += one;
            }
        __syncthreads();
        if (is_free)
            free[places[threadIdx.x]] = i;
    }
    if (threadIdx.x == 0)
        *count = found;
}
