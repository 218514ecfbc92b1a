// Chases through memory, an answer to the host, and an empty kernel.

// ANCHOR: chase
// One thread walks through memory, from line to line of 128 bytes. The first word of a
// line tells which line comes next, so each hop waits for the one before.
extern "C" __global__ void chase(const unsigned int *memory, unsigned int *place,
                                 unsigned int hops)
{
    unsigned int line = *place;
    for (unsigned int i = 0; i < hops; i++)
        line = memory[(size_t)line * 32];
    *place = line;
}
// ANCHOR_END: chase

// Ties `count` lines, `distance` lines apart, into one cycle: order[i] leads to
// order[i + 1].
extern "C" __global__ void tie(const unsigned int *order, unsigned int count,
                               unsigned int distance, unsigned int *memory)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        unsigned int next = order[i + 1 < count ? i + 1 : 0];
        memory[(size_t)order[i] * distance * 32] = next * distance;
    }
}

// ANCHOR: nothing
extern "C" __global__ void nothing(void)
{
}
// ANCHOR_END: nothing

// ANCHOR: answers
// The smallest answer to a question of the host: one more.
extern "C" __global__ void add_one(unsigned int *value)
{
    *value += 1;
}

// The same for a persistent kernel. It polls the host's memory for the next question,
// and writes its answer there as well. If none comes within
// `patience` looks it ends, so that a host that went away leaves no kernel behind.
extern "C" __global__ void answer(volatile unsigned int *question,
                                  volatile unsigned int *reply, unsigned int questions,
                                  unsigned int patience)
{
    unsigned int last = 0;
    for (unsigned int i = 0; i < questions; i++) {
        unsigned int asked, looks = 0;
        while ((asked = *question) == last)
            if (++looks == patience)
                return;
        *reply = asked + 1;
        last = asked;
    }
}
// ANCHOR_END: answers
