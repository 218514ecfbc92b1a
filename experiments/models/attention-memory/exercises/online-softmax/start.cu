// out[row] = the mean of values[key], weighted by the softmax of scale · scores[key][row].
// A thread has a row; neighbours have neighbouring rows, so that loads are coalesced.

extern "C" __global__ void attend(const float *scores, const float *values, float *out,
                                  int keys, int rows, float scale)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;

    float most = scale * scores[row];
    for (int key = 1; key < keys; key++)
        most = fmaxf(most, scale * scores[key * rows + row]);

    float sum = 0;
    for (int key = 0; key < keys; key++)
        sum += expf(scale * scores[key * rows + row] - most);

    float result = 0;
    for (int key = 0; key < keys; key++)
        result += expf(scale * scores[key * rows + row] - most) / sum * values[key];
    out[row] = result;
}
