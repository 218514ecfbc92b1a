// above[0] = how many days are hotter than `limit`; best[0] = the highest temperature, best[1] =
// its day.
//
// A thread for each day, in blocks of 256. `above`, `best` and `lock` are 0 at first.

extern "C" __global__ void summer(
    const int *days, int limit, unsigned int *above, volatile int *best,
    unsigned int *lock, unsigned int count)
{
    __shared__ int highest[8], place[8]; // of each warp

    // All threads stay, so every lane takes part in votes and shuffles, every thread reaches the
    // barrier, and every warp writes what it has found: -1 where it has no day.
    unsigned int day = blockIdx.x * 256 + threadIdx.x;
    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int most = day < count ? days[day] : -1, at = day;

    unsigned int hot = __ballot_sync(0xffffffff, day < count && most > limit);
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
    __syncthreads(); // the warps have written

    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; w++) {
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
        }
        __threadfence();     // whoever takes the lock next sees this best
        atomicExch(lock, 0); // and every thread that took it gives it back
    }
}
