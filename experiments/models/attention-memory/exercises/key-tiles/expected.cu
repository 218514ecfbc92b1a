// What every query's largest score has to be.
extern "C" __global__ void expected(const float *queries, const float *keys, float *best,
                                    int count, int key_count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        double most = -1e300;
        for (int key = 0; key < key_count; key++) {
            double score = 0;
            for (int d = 0; d < 32; d++)
                score += (double)queries[d * count + i] * keys[key * 32 + d];
            most = fmax(most, score);
        }
        best[i] = (float)most;
    }
}
