/* A program of the driver API's usual kind, without NVIDIA's header: what that calls
 * `cuCtxCreate` is `cuCtxCreate_v2`, and so on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct ctx *CUcontext;
typedef struct module *CUmodule;
typedef struct function *CUfunction;
typedef struct stream *CUstream;
typedef struct event *CUevent;
typedef struct {
    size_t srcX, srcY; unsigned srcType; const void *srcHost; CUdeviceptr srcDevice; void *srcArray;
    size_t srcPitch;
    size_t dstX, dstY; unsigned dstType; void *dstHost; CUdeviceptr dstDevice; void *dstArray;
    size_t dstPitch;
    size_t width, height;
} Rows;

int cuInit(unsigned), cuDeviceGetCount(int *), cuDeviceGet(CUdevice *, int);
int cuDeviceGetName(char *, int, CUdevice), cuDeviceTotalMem_v2(size_t *, CUdevice);
int cuDeviceComputeCapability(int *, int *, CUdevice), cuDriverGetVersion(int *);
int cuCtxCreate_v2(CUcontext *, unsigned, CUdevice), cuCtxDestroy_v2(CUcontext);
int cuCtxPushCurrent_v2(CUcontext), cuCtxPopCurrent_v2(CUcontext *), cuCtxSynchronize(void);
int cuModuleLoad(CUmodule *, const char *), cuModuleUnload(CUmodule);
int cuModuleGetFunction(CUfunction *, CUmodule, const char *);
int cuMemAlloc_v2(CUdeviceptr *, size_t), cuMemFree_v2(CUdeviceptr);
int cuMemAllocHost_v2(void **, size_t), cuMemFreeHost(void *);
int cuMemAllocPitch_v2(CUdeviceptr *, size_t *, size_t, size_t, unsigned);
int cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t), cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);
int cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, CUstream), cuMemcpy2D_v2(const Rows *);
int cuMemsetD32_v2(CUdeviceptr, unsigned, size_t);
int cuMemGetAddressRange_v2(CUdeviceptr *, size_t *, CUdeviceptr);
int cuPointerGetAttribute(void *, int, CUdeviceptr);
int cuStreamCreate(CUstream *, unsigned), cuStreamDestroy_v2(CUstream);
int cuStreamWaitEvent(CUstream, CUevent, unsigned), cuStreamSynchronize(CUstream);
int cuStreamAddCallback(CUstream, void (*)(CUstream, int, void *), void *, unsigned);
int cuEventCreate(CUevent *, unsigned), cuEventDestroy_v2(CUevent);
int cuEventRecord(CUevent, CUstream), cuEventSynchronize(CUevent);
int cuEventElapsedTime(float *, CUevent, CUevent), cuGetErrorName(int, const char **);
int cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned, CUstream, void **, void **);

#define CHECK(call)                                                                  \
    do {                                                                             \
        int code = call;                                                             \
        const char *name = "?";                                                      \
        if (code != 0) {                                                             \
            cuGetErrorName(code, &name);                                             \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, name);     \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)
#define ASSERT(condition)                                                            \
    do {                                                                             \
        if (!(condition)) {                                                          \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);          \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)

enum { COUNT = 1000, BYTES = COUNT * sizeof(unsigned), NOT_READY = 600 };

static void called(CUstream stream, int status, void *told) {
    (void)stream;
    *(int *)told = status == 0;
}

int main(int count, char **arguments) {
    int devices, major, minor, version, told = 0, kind = 0;
    char name[64];
    size_t total, size, pitch;
    CUdevice device;
    CUcontext context, popped;
    CUmodule module;
    CUfunction add;
    CUdeviceptr data, start, rows;
    CUstream first, second;
    CUevent begin, end;
    float milliseconds;
    unsigned *host, number = 5, elements = COUNT, plain[COUNT];

    ASSERT(count == 2);
    CHECK(cuInit(0));
    CHECK(cuDriverGetVersion(&version));
    CHECK(cuDeviceGetCount(&devices));
    CHECK(cuDeviceGet(&device, devices - 1));
    CHECK(cuDeviceGetName(name, sizeof name, device));
    CHECK(cuDeviceTotalMem_v2(&total, device));
    CHECK(cuDeviceComputeCapability(&major, &minor, device));
    ASSERT(strlen(name) > 0 && total > BYTES && major >= 7 && version >= 12000);
    CHECK(cuCtxCreate_v2(&context, 0, device));
    CHECK(cuCtxPopCurrent_v2(&popped));
    ASSERT(popped == context);
    CHECK(cuCtxPushCurrent_v2(context));
    CHECK(cuModuleLoad(&module, arguments[1]));
    CHECK(cuModuleGetFunction(&add, module, "add"));
    CHECK(cuMemAlloc_v2(&data, BYTES));
    CHECK(cuMemGetAddressRange_v2(&start, &size, data + 8));
    ASSERT(start == data && size == BYTES);
    CHECK(cuPointerGetAttribute(&kind, 2, data));
    ASSERT(kind == 2);
    ASSERT(cuPointerGetAttribute(&kind, 2, (CUdeviceptr)(size_t)plain) != 0);
    CHECK(cuMemAllocHost_v2((void **)&host, BYTES));
    CHECK(cuStreamCreate(&first, 1));
    CHECK(cuStreamCreate(&second, 1));
    CHECK(cuEventCreate(&begin, 0));
    CHECK(cuEventCreate(&end, 0));

    for (int i = 0; i < COUNT; i++)
        plain[i] = i;
    CHECK(cuMemcpyHtoD_v2(data, plain, BYTES));
    void *parameters[] = {&data, &elements, &number};
    CHECK(cuEventRecord(begin, first));
    CHECK(cuLaunchKernel(add, (COUNT + 127) / 128, 1, 1, 128, 1, 1, 0, first, parameters, NULL));
    CHECK(cuEventRecord(end, first));
    ASSERT(cuEventElapsedTime(&milliseconds, begin, end) == NOT_READY);
    CHECK(cuStreamWaitEvent(second, end, 0));
    /* The same arguments in one piece. */
    struct {
        CUdeviceptr data;
        unsigned elements, number;
    } piece = {data, COUNT, 10};
    size_t piece_bytes = sizeof piece;
    void *extra[] = {(void *)1, &piece, (void *)2, &piece_bytes, (void *)0};
    CHECK(cuLaunchKernel(add, (COUNT + 127) / 128, 1, 1, 128, 1, 1, 0, second, NULL, extra));
    CHECK(cuMemcpyDtoHAsync_v2(host, data, BYTES, second));
    CHECK(cuStreamAddCallback(second, called, &told, 0));
    CHECK(cuStreamSynchronize(second));
    ASSERT(told);
    for (int i = 0; i < COUNT; i++)
        ASSERT(host[i] == i + 15u);

    /* A rectangle of 10 × 7 words out of rows of 100. */
    CHECK(cuMemAllocPitch_v2(&rows, &pitch, 10 * sizeof(unsigned), 7, 4));
    ASSERT(pitch >= 10 * sizeof(unsigned));
    Rows up = {.srcX = 8, .srcY = 1, .srcType = 1, .srcHost = plain, .srcPitch = 400, .dstType = 2,
               .dstDevice = rows, .dstPitch = pitch, .width = 40, .height = 7};
    CHECK(cuMemcpy2D_v2(&up));
    memset(host, 0, BYTES);
    CHECK(cuMemcpyDtoH_v2(host, rows + 6 * pitch, 40));
    ASSERT(host[0] == 702 && host[9] == 711 && host[10] == 0);
    CHECK(cuMemsetD32_v2(data, 9, COUNT));
    CHECK(cuMemcpyDtoH_v2(plain, data, BYTES));
    ASSERT(plain[0] == 9 && plain[COUNT - 1] == 9);

    CHECK(cuEventSynchronize(end));
    CHECK(cuEventDestroy_v2(begin));
    CHECK(cuEventDestroy_v2(end));
    CHECK(cuStreamDestroy_v2(first));
    CHECK(cuStreamDestroy_v2(second));
    CHECK(cuMemFree_v2(data));
    CHECK(cuMemFree_v2(rows));
    CHECK(cuMemFreeHost(host));
    CHECK(cuModuleUnload(module));
    CHECK(cuCtxSynchronize());
    CHECK(cuCtxDestroy_v2(context));
    puts("all of it");
    return 0;
}
