// Structures by value, vectors, tables, pointers whose space differs or changes.
struct Plan {
    const float *from;
    unsigned char order[4];
    float factors[3];
};
__constant__ float table[4] = {0.5f, 1, 2, 4};
__device__ unsigned int visits;

extern "C" __global__ void memory(
    float4 *out, Plan plan, const float4 *__restrict__ in, bool mirrored, double scale)
{
    __shared__ float4 tile[32];
    extern __shared__ float rest[];
    unsigned int t = threadIdx.x;
    tile[t] = in[mirrored ? 31 - t : t];
    rest[t] = plan.from[t];
    __syncthreads();
    const float *walk = t % 2 == 0 ? &tile[t].x : &in[t].x;
    float sum = 0;
    for (int k = 0; k < 4; k++)
        sum += *walk++ * table[k];
    float mixed[4];
    for (int k = 0; k < 4; k++)
        mixed[plan.order[k] & 3] = rest[(t + k) & 31] * plan.factors[k % 3];
    float4 v = tile[t ^ 1];
    v.x = sum;
    v.y = mixed[t & 3];
    v.z = (float)(v.z * scale);
    out[t] = v;
    if (plan.from != nullptr)
        atomicAdd(&visits, 1);
}
