// free[0], free[1], … = all i with used[i] == 0, in order; *count = how many they are.
//
// One block of 1024 threads, for any n.

extern "C" __global__ void list_free(const unsigned int *used, unsigned int n,
                                     unsigned int *free, unsigned int *count)
{
    if (threadIdx.x > 0)
        return;
    unsigned int found = 0;
    for (unsigned int i = 0; i < n; i++)
        if (used[i] == 0)
            free[found++] = i;
    *count = found;
}
