// What `above` has to be.
extern "C" __global__ void hot_days(const int *days, int limit, unsigned int *above, int count)
{
    if (blockIdx.x * blockDim.x + threadIdx.x > 0)
        return;
    above[0] = 0;
    for (int day = 0; day < count; day++)
        above[0] += days[day] > limit;
}

// What `best` has to be.
extern "C" __global__ void hottest(const int *days, int *best, int count)
{
    if (blockIdx.x * blockDim.x + threadIdx.x > 0)
        return;
    best[0] = best[1] = 0;
    for (int day = 0; day < count; day++)
        if (days[day] > best[0]) {
            best[0] = days[day];
            best[1] = day;
        }
}
