// best[i] = the largest score of query i: the largest product of it with a key.
//
// A block has 256 threads, and is for 256 queries. Number d of query i is
// queries[d * count + i], so that neighbouring threads read neighbours; number d of a key is
// keys[key * HEAD + d].

#define HEAD 32

extern "C" __global__ void largest(const float *queries, const float *keys, float *best,
                                   int count, int key_count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;

    float query[HEAD];
    for (int d = 0; d < HEAD; d++)
        query[d] = queries[d * count + i];

    float most = -1e30f;
    for (int key = 0; key < key_count; key++) {
        float score = 0;
        for (int d = 0; d < HEAD; d++)
            score += query[d] * keys[key * HEAD + d];
        most = fmaxf(most, score);
    }
    best[i] = most;
}
