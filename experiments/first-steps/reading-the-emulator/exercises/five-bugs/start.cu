// above[0] = how many days are hotter than `limit`; best[0] = the highest temperature, best[1] =
// its day.
//
// A thread for each day, in blocks of 256. `above`, `best` and `lock` are 0 at first. `volatile`
// says that it is read from memory each time.

extern "C" __global__ void summer(
    const int *days, int limit, unsigned int *above, volatile int *best,
    unsigned int *lock, unsigned int count)
{
    __shared__ int highest[8], place[8]; // of each warp

    unsigned int day = blockIdx.x * 256 + threadIdx.x;
    if (day >= count)
        return;
    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int most = days[day], at = day;

    unsigned int hot = __ballot_sync(0xffffffff, most > limit);
    if (lane == 0)
        atomicAdd(above, __popc(hot));

    for (int step = 16; step > 0; step /= 2) {
        int other = __shfl_down_sync(0xffffffff, most, step);
        int there = __shfl_down_sync(0xffffffff, at, step);
        if (other > most) {
            most = other;
            at = there;
        }
    }
    if (lane == 0) {
        highest[warp] = most;
        place[warp] = at;
    }

    if (threadIdx.x == 0) {
        for (int w = 1; w <= 8; w++) {
            int other = highest[w], there = place[w];
            if (other > most) {
                most = other;
                at = there;
            }
        }
        while (atomicCAS(lock, 0, 1) != 0)
            ;
        __threadfence(); // this thread sees the best of the one that had the lock before
        if (most > best[0]) {
            best[0] = most;
            best[1] = at;
            __threadfence(); // whoever takes the lock next sees this best
            atomicExch(lock, 0);
        }
    }
}
