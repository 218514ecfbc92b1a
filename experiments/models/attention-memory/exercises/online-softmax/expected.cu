// What every row's mean has to be.
extern "C" __global__ void expected(const float *scores, const float *values, float *out,
                                    int keys, int rows, float scale)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        double most = (double)scale * scores[row], sum = 0, result = 0;
        for (int key = 1; key < keys; key++)
            most = fmax(most, (double)scale * scores[key * rows + row]);
        for (int key = 0; key < keys; key++) {
            double weight = exp((double)scale * scores[key * rows + row] - most);
            sum += weight;
            result += weight * values[key];
        }
        out[row] = (float)(result / sum);
    }
}
