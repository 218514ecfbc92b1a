// One atomic operation of one warp, in any pattern: lane l changes word place[l], if bit l of
// `mask` is set.

#define GLOBAL(name, T, operation)                                                      \
    extern "C" __global__ void name(T *out, const unsigned int *place,                  \
        unsigned int mask, T *old)                                                      \
    {                                                                                   \
        unsigned int lane = threadIdx.x;                                                \
        T *to = out + place[lane];                                                      \
        if (mask >> lane & 1)                                                           \
            operation;                                                                  \
    }

// Without and with the old value: a reduction, and an atomic operation.
GLOBAL(global_red, unsigned int, atomicAdd(to, lane + 1))
GLOBAL(global_atom, unsigned int, old[lane] = atomicAdd(to, lane + 1))
GLOBAL(global_red_one, unsigned int, atomicAdd(to, 1))
GLOBAL(global_red_max, unsigned int, atomicMax(to, lane))
GLOBAL(global_red_float, float, atomicAdd(to, lane + 1.0f))
GLOBAL(global_atom_float, float, old[lane] = atomicAdd(to, lane + 1.0f))
GLOBAL(global_red_wide, unsigned long long, atomicAdd(to, lane + 1))
GLOBAL(global_red_double, double, atomicAdd(to, lane + 1.0))
GLOBAL(global_swap, unsigned int, old[lane] = atomicCAS(to, 0, lane + 1))
GLOBAL(global_exchange, unsigned int, old[lane] = atomicExch(to, lane + 1))

#define SHARED(name, T, operation)                                                      \
    extern "C" __global__ void name(T *out, const unsigned int *place,                  \
        unsigned int mask, T *old)                                                      \
    {                                                                                   \
        __shared__ T tile[1024];                                                        \
        unsigned int lane = threadIdx.x;                                                \
        _Pragma("unroll 1") for (unsigned int i = lane; i < 1024; i += 32)              \
            tile[i] = 0;                                                                \
        __syncthreads();                                                                \
        T *to = tile + place[lane];                                                     \
        if (mask >> lane & 1)                                                           \
            operation;                                                                  \
        __syncthreads();                                                                \
        _Pragma("unroll 1") for (unsigned int i = lane; i < 1024; i += 32)              \
            out[i] = tile[i];                                                           \
    }

SHARED(shared_add, unsigned int, atomicAdd(to, lane + 1))
SHARED(shared_atom, unsigned int, old[lane] = atomicAdd(to, lane + 1))
SHARED(shared_one, unsigned int, atomicAdd(to, 1))
SHARED(shared_max, unsigned int, atomicMax(to, lane))
SHARED(shared_float, float, atomicAdd(to, lane + 1.0f))
SHARED(shared_wide, unsigned long long, atomicAdd(to, lane + 1))
SHARED(shared_swap, unsigned int, old[lane] = atomicCAS(to, 0, lane + 1))
SHARED(shared_exchange, unsigned int, old[lane] = atomicExch(to, lane + 1))
