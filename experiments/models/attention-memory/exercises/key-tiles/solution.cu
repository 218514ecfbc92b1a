// best[i] = the largest score of query i: the largest product of it with a key.
//
// A block has 256 threads, and is for 256 queries. Number d of query i is
// queries[d * count + i], so that neighbouring threads read neighbours; number d of a key is
// keys[key * HEAD + d].

#define HEAD 32
#define TILE 32

extern "C" __global__ void largest(const float *queries, const float *keys, float *best,
                                   int count, int key_count)
{
    __shared__ float tile[TILE * HEAD];
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    // A thread without a query has no score, but keys to fetch.
    float query[HEAD];
    for (int d = 0; d < HEAD; d++)
        query[d] = i < count ? queries[d * count + i] : 0;

    float most = -1e30f;
    for (int first = 0; first < key_count; first += TILE) {
        // All threads fetch a tile of keys, each number once for the whole block.
        int tile_keys = min(TILE, key_count - first);
        __syncthreads(); // the tile before is used up
        for (int at = threadIdx.x; at < tile_keys * HEAD; at += blockDim.x)
            tile[at] = keys[first * HEAD + at];
        __syncthreads(); // and this one is there

        for (int key = 0; key < tile_keys; key++) {
            float score = 0;
            for (int d = 0; d < HEAD; d++)
                score += query[d] * tile[key * HEAD + d];
            most = fmaxf(most, score);
        }
    }
    if (i < count)
        best[i] = most;
}
