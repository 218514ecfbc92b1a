// check: --kernel scale --grid 'ceil(n / 256)' --block 256
// check: --arg in=f32[n]:ramp --arg out=f32[n] --arg n
// check: --set n=1024 --set n=1000
__global__ void scale(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 2 * in[i];
}
