// compute: 9.0
//
// A transpose by bulk tensor copies: one thread asks for a whole tile, and the copy unit
// of the multiprocessor (NVIDIA's Tensor Memory Accelerator) moves it, computes the
// addresses, leaves out what is beyond the matrix, and swizzles what it moves.

// ANCHOR: instructions
// The instructions, for which CUDA C has no names without its headers.
struct __align__(64) TensorMap { unsigned long long opaque[16]; };

__device__ unsigned int shared(const void *pointer)
{
    return (unsigned int)__cvta_generic_to_shared(pointer);
}

// A barrier that opens when `bytes` bytes have arrived.
__device__ void expect(unsigned long long *barrier, unsigned int bytes)
{
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared(barrier)) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"
                 ::"r"(shared(barrier)), "r"(bytes) : "memory");
}

__device__ void wait(unsigned long long *barrier)
{
    asm volatile("{ .reg .pred open;\n"
                 "again: mbarrier.try_wait.parity.shared.b64 open, [%0], 0;\n"
                 "@!open bra again; }" ::"r"(shared(barrier)) : "memory");
}

// 32 elements of each row of a tile, from column x, row y of the matrix on.
__device__ void load(void *to, const TensorMap *from, unsigned int x, unsigned int y,
                     unsigned long long *barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(shared(to)), "l"(from), "r"(x), "r"(y), "r"(shared(barrier))
                 : "memory");
}

__device__ void store(const TensorMap *to, const void *from, unsigned int x, unsigned int y)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group"
                 " [%0, {%1, %2}], [%3];"
                 ::"l"(to), "r"(x), "r"(y), "r"(shared(from)) : "memory");
}

// What threads wrote to shared memory becomes visible to the copy unit.
__device__ void ready()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Waits until the copy unit has read what it was told to store.
__device__ void finish()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
// ANCHOR_END: instructions

// ANCHOR: bulk
// 64 × 64 elements in a block of 256 threads, as two halves of 32 columns, because
// the copy unit swizzles rows of 128 bytes: vector p of row r is at place p ^ (r % 8).
// Thread a, b turns the 4 × 4 elements at column a, row b of a quarter. Among eight
// neighbouring threads are all eight a and all eight b, so neither access conflicts.
extern "C" __global__ void bulk(const __grid_constant__ TensorMap in,
                                const __grid_constant__ TensorMap out)
{
    __shared__ __align__(1024) uint4 tile[2][64][8];
    __shared__ unsigned long long arrived;

    unsigned int x = blockIdx.y * 64, y = blockIdx.x * 64;
    if (threadIdx.x == 0) {
        expect(&arrived, sizeof tile);
        load(tile[0], &in, x, y, &arrived);
        load(tile[1], &in, x + 32, y, &arrived);
    }
    __syncthreads();
    wait(&arrived);

    unsigned int a = threadIdx.x % 8, b = a ^ threadIdx.x / 8 % 8;
    unsigned int right = threadIdx.x / 64 % 2, below = threadIdx.x / 128;
    unsigned int r = 32 * below + 4 * b;
    uint4 v[4];
    for (int k = 0; k < 4; k++)
        v[k] = tile[right][r + k][a ^ (r + k) % 8];
    __syncthreads(); // the turned tile takes the place of this one
    r = 32 * right + 4 * a;
    uint4(*half)[8] = tile[below];
    half[r + 0][b ^ (r + 0) % 8] = make_uint4(v[0].x, v[1].x, v[2].x, v[3].x);
    half[r + 1][b ^ (r + 1) % 8] = make_uint4(v[0].y, v[1].y, v[2].y, v[3].y);
    half[r + 2][b ^ (r + 2) % 8] = make_uint4(v[0].z, v[1].z, v[2].z, v[3].z);
    half[r + 3][b ^ (r + 3) % 8] = make_uint4(v[0].w, v[1].w, v[2].w, v[3].w);

    ready();
    __syncthreads();
    if (threadIdx.x == 0) {
        store(&out, tile[0], y, x);
        store(&out, tile[1], y + 32, x);
        finish();
    }
}
// ANCHOR_END: bulk

// ANCHOR: halves
// Only the loads of `bulk`: each block adds up its tile, in which what is beyond the matrix is
// zero.
extern "C" __global__ void bulk_load(const __grid_constant__ TensorMap in, unsigned int *sums)
{
    __shared__ __align__(1024) uint4 tile[2][64][8];
    __shared__ unsigned long long arrived;
    __shared__ unsigned int total;

    unsigned int x = blockIdx.y * 64, y = blockIdx.x * 64;
    if (threadIdx.x == 0) {
        total = 0;
        expect(&arrived, sizeof tile);
        load(tile[0], &in, x, y, &arrived);
        load(tile[1], &in, x + 32, y, &arrived);
    }
    __syncthreads();
    wait(&arrived);

    unsigned int sum = 0;
    for (unsigned int i = threadIdx.x; i < 2 * 64 * 8; i += blockDim.x) {
        uint4 v = (&tile[0][0][0])[i];
        sum += v.x + v.y + v.z + v.w;
    }
    atomicAdd(&total, sum);
    __syncthreads();
    if (threadIdx.x == 0)
        sums[blockIdx.y * gridDim.x + blockIdx.x] = total;
}

// Only the stores: element i of the matrix, whose rows have `width`, becomes i.
extern "C" __global__ void bulk_store(const __grid_constant__ TensorMap out,
                                      unsigned int width)
{
    __shared__ __align__(1024) uint4 tile[2][64][8];

    unsigned int x = blockIdx.y * 64, y = blockIdx.x * 64;
    for (unsigned int i = threadIdx.x; i < 2 * 64 * 8; i += blockDim.x) {
        unsigned int half = i / 512, r = i / 8 % 64, p = i % 8;
        unsigned int first = (x + r) * width + y + 32 * half + 4 * p;
        tile[half][r][p ^ r % 8] = make_uint4(first, first + 1, first + 2, first + 3);
    }
    ready();
    __syncthreads();
    if (threadIdx.x == 0) {
        store(&out, tile[0], y, x);
        store(&out, tile[1], y + 32, x);
        finish();
    }
}
// ANCHOR_END: halves
