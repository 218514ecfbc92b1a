// out[row] = the mean of values[key], weighted by the softmax of scale · scores[key][row].
// A thread has a row; neighbours have neighbouring rows, so that loads are coalesced.

extern "C" __global__ void attend(const float *scores, const float *values, float *out,
                                  int keys, int rows, float scale)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;

    // Of the keys so far: the largest score, and two sums that are relative to it.
    float most = scale * scores[row];
    float sum = 1;
    float result = values[0];
    for (int key = 1; key < keys; key++) {
        float score = scale * scores[key * rows + row];

        // A larger score shrinks all that was summed before it.
        float before = most;
        most = fmaxf(most, score);
        float shrink = expf(before - most);
        float weight = expf(score - most);
        sum = sum * shrink + weight;
        result = result * shrink + weight * values[key];
    }
    out[row] = result / sum;
}
