// out[i] = factor * in[i]: each thread has eight neighbours, and moves four at a time.

#define EACH 8

extern "C" __global__ void scale(const float *in, float *out, float factor, int n)
{
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * EACH;

    for (int k = 0; k < EACH; k += 4) {
        int i = first + k;
        if (i + 3 < n) {
            float4 v = *(const float4 *)&in[i];
            *(float4 *)&out[i] =
                make_float4(factor * v.x, factor * v.y, factor * v.z, factor * v.w);
        } else {
            for (; i < n && i < first + k + 4; i++)
                out[i] = factor * in[i];
        }
    }
}
