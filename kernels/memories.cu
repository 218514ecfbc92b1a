// One and the same count in three memories: who sees it, and how long does it live?

// ANCHOR: visit
extern "C" __global__ void visit(unsigned int *total, unsigned int *seen)
{
    unsigned int mine = 0;         // a register: each thread has its own
    __shared__ unsigned int ours;  // shared memory: each block has its own
    if (threadIdx.x == 0)
        ours = 0;
    __syncthreads();               // no thread goes on before all of the block are here

    mine += 1;
    atomicAdd(&ours, 1);
    atomicAdd(total, 1);           // device memory: there is one, for all

    __syncthreads();
    if (threadIdx.x == 0) {
        seen[2 * blockIdx.x] = mine;
        seen[2 * blockIdx.x + 1] = ours;
    }
}
// ANCHOR_END: visit
