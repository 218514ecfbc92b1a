// A stand-in for NVIDIA's driver, for the tests of the crate `lab` and for nothing else.
//
// What it is: the few functions of the driver API and of NVML that an experiment calls
// which only copies. "Device" memory is malloc's, a copy is a memcpy that is done when
// the call returns (or later, if asked for), an event holds the time at which it was recorded, and a host
// function runs on a thread of its own, so that a gate holds until it is opened. With
// that, the tests run the experiments' real programs from the command line to the record
// on a machine without a GPU, and show them errors that no real GPU makes on demand.
//
// What it is not:
// - a GPU: it runs no kernel, orders no streams, and its times are the host's memcpy.
//   No number made on it may leave a test's temporary folder;
// - an emulator: the workbook's emulated driver, which runs kernels and counts what they
//   do, is another thing;
// - complete: it lacks every function that the tested experiments do not call. cudarc
//   then panics with "Missing symbol", and the test that asked for it fails.
//
// The tests set it up by environment variables:
//   STAND_IN_DEVICES  number of GPUs (1)
//   STAND_IN_MEMORY   memory of each in MiB (32)
//   STAND_IN_PEAKS    "CLOCK GENERATION LANES": memory clock in kHz on a bus of 512 bits,
//                     and the PCIe link; without it the machine tells neither
//   STAND_IN_FAIL     "FUNCTION N CODE": the Nth call of the function returns this error
//                     and does nothing else
//   STAND_IN_COPIES   how copies from host to device misbehave: "corrupt" changes one
//                     byte, "skip" copies nothing, "wait" returns only when the host
//                     functions queued before it have, as pageable copies really do;
//                     and "late", no misbehaviour: copies both ways are made as late as
//                     their stream allows, when somebody waits for them
//   STAND_IN_TRACE    file to append the name of every called function to

#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_DEVICE = 101,
    INVALID_PTX = 218,
    NOT_READY = 600,
    ALREADY_REGISTERED = 712,
    NOT_REGISTERED = 713,
};

enum { NVML_NOT_SUPPORTED = 3 };

// Names and texts of the errors that the tests ask for, as NVIDIA's driver words them.
static const struct {
    int code;
    const char *name;
    const char *text;
} ERRORS[] = {
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t host_function_ended = PTHREAD_COND_INITIALIZER;

static int setting(const char *name, int otherwise) {
    const char *value = getenv(name);
    return value ? atoi(value) : otherwise;
}

static int copies(const char *how) {
    const char *value = getenv("STAND_IN_COPIES");
    return value && !strcmp(value, how);
}

// Number `which` of STAND_IN_PEAKS; 0 if there is none.
static int peak(int which) {
    int peaks[3] = {0, 0, 0};
    const char *value = getenv("STAND_IN_PEAKS");
    if (value) sscanf(value, "%d %d %d", &peaks[0], &peaks[1], &peaks[2]);
    return peaks[which];
}

// Every function begins here: writes the trace, and says whether this call shall fail.
static int enter(const char *function) {
    static FILE *trace;
    static int calls;
    char failing[64];
    int n, code, result = SUCCESS;
    const char *path = getenv("STAND_IN_TRACE"), *fail = getenv("STAND_IN_FAIL");
    pthread_mutex_lock(&lock);
    if (path && !trace) trace = fopen(path, "a");
    if (trace) fprintf(trace, "%s\n", function);
    if (fail && sscanf(fail, "%63s %d %d", failing, &n, &code) == 3
        && !strcmp(failing, function) && ++calls == n)
        result = code;
    pthread_mutex_unlock(&lock);
    return result;
}
#define ENTER()                                                                        \
    do {                                                                               \
        int failure = enter(__func__);                                                 \
        if (failure) return failure;                                                   \
    } while (0)

// ---- The driver and its devices --------------------------------------------------

int cuInit(unsigned flags) {
    ENTER();
    return flags ? INVALID_VALUE : SUCCESS;
}

int cuDriverGetVersion(int *version) {
    ENTER();
    *version = 12080;
    return SUCCESS;
}

// These two are not in the trace: they only put words to an error.
int cuGetErrorName(int code, const char **name) {
    for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++)
        if (ERRORS[i].code == code) return *name = ERRORS[i].name, SUCCESS;
    return INVALID_VALUE;
}

int cuGetErrorString(int code, const char **text) {
    for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++)
        if (ERRORS[i].code == code) return *text = ERRORS[i].text, SUCCESS;
    return INVALID_VALUE;
}

int cuDeviceGetCount(int *count) {
    ENTER();
    *count = setting("STAND_IN_DEVICES", 1);
    return SUCCESS;
}

int cuDeviceGet(int *device, int ordinal) {
    ENTER();
    if (ordinal < 0 || ordinal >= setting("STAND_IN_DEVICES", 1)) return INVALID_DEVICE;
    *device = ordinal;
    return SUCCESS;
}

int cuDeviceGetName(char *name, int length, int device) {
    ENTER();
    (void)device;
    snprintf(name, (size_t)length, "NVIDIA Stand-in");
    return SUCCESS;
}

int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    ENTER();
    for (int i = 0; i < 16; i++) uuid[i] = (unsigned char)(device + i);
    return SUCCESS;
}

int cuDeviceGetUuid(unsigned char *uuid, int device) {
    return cuDeviceGetUuid_v2(uuid, device);
}

// In a PCI domain where Linux has no device, so that nothing real is described.
int cuDeviceGetPCIBusId(char *address, int length, int device) {
    ENTER();
    snprintf(address, (size_t)length, "ffff:%02x:1f.7", device);
    return SUCCESS;
}

static size_t memory_bytes(void) {
    return (size_t)setting("STAND_IN_MEMORY", 32) << 20;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    ENTER();
    (void)device;
    *bytes = memory_bytes();
    return SUCCESS;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    ENTER();
    (void)device;
    switch (attribute) {
    case 13: *value = 1000000; break; // clock rate in kHz
    case 16: *value = 4; break;       // multiprocessors
    case 32: *value = 0; break;       // ECC
    case 36: *value = peak(0); break; // memory clock in kHz
    case 37: *value = 512; break;     // memory bus in bits
    case 38: *value = 1 << 20; break; // L2 cache in bytes
    case 75: *value = 7; break;       // compute capability, major
    case 76: *value = 5; break;       // compute capability, minor
    case 115: *value = 1; break;      // memory pools
    default: return INVALID_VALUE;
    }
    return SUCCESS;
}

// ---- Contexts: one for each device, current for a thread -------------------------

struct context {
    char nothing;
};
static struct context contexts[64];
static _Thread_local struct context *current;

int cuDevicePrimaryCtxRetain(struct context **context, int device) {
    ENTER();
    *context = &contexts[device];
    return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    ENTER();
    (void)device;
    return SUCCESS;
}

int cuCtxSetCurrent(struct context *context) {
    ENTER();
    current = context;
    return SUCCESS;
}

int cuCtxGetCurrent(struct context **context) {
    ENTER();
    *context = current;
    return SUCCESS;
}

// ---- Streams: the host functions that have not ended, and the late copies ---------

struct copy {
    void *to;
    const void *from;
    size_t bytes;
    struct copy *next;
};

struct stream {
    int waiting;
    long queued, made;         // late copies, ever
    struct copy *first, *last; // those that are not made yet
};
static struct stream default_stream;

static struct stream *of(struct stream *stream) {
    return stream ? stream : &default_stream;
}

// Makes a stream's late copies until `count` are made. The lock is held.
static void make_copies(struct stream *stream, long count) {
    while (stream->made < count && stream->made < stream->queued) {
        struct copy *copy = stream->first;
        memcpy(copy->to, copy->from, copy->bytes);
        stream->first = copy->next;
        stream->made++;
        free(copy);
    }
}

static void wait_until(struct stream *stream, long copies) {
    pthread_mutex_lock(&lock);
    while (stream->waiting) pthread_cond_wait(&host_function_ended, &lock);
    make_copies(stream, copies);
    pthread_mutex_unlock(&lock);
}

static void wait_for(struct stream *stream) {
    wait_until(stream, LONG_MAX);
}

// A copy, at once or queued.
static int copy(void *to, const void *from, size_t bytes, struct stream *stream) {
    if (!copies("late")) return memcpy(to, from, bytes), SUCCESS;
    struct copy *late = malloc(sizeof *late);
    if (!late) return OUT_OF_MEMORY;
    *late = (struct copy){to, from, bytes, NULL};
    pthread_mutex_lock(&lock);
    if (stream->made == stream->queued) stream->first = late;
    else stream->last->next = late;
    stream->last = late;
    stream->queued++;
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

int cuStreamCreate(struct stream **stream, unsigned flags) {
    ENTER();
    (void)flags;
    *stream = calloc(1, sizeof **stream);
    return *stream ? SUCCESS : OUT_OF_MEMORY;
}

int cuStreamSynchronize(struct stream *stream) {
    ENTER();
    wait_for(of(stream));
    return SUCCESS;
}

// cudarc asks for it before it makes the first stream, so there is none but the default.
int cuCtxSynchronize(void) {
    return cuStreamSynchronize(NULL);
}

int cuStreamDestroy_v2(struct stream *stream) {
    ENTER();
    wait_for(stream);
    free(stream);
    return SUCCESS;
}

struct host_function {
    void (*function)(void *);
    void *argument;
    struct stream *stream;
};

static void *run_host_function(void *pointer) {
    struct host_function *host = pointer;
    host->function(host->argument);
    pthread_mutex_lock(&lock);
    host->stream->waiting--;
    pthread_cond_broadcast(&host_function_ended);
    pthread_mutex_unlock(&lock);
    free(host);
    return NULL;
}

int cuLaunchHostFunc(struct stream *stream, void (*function)(void *), void *argument) {
    ENTER();
    struct host_function *host = malloc(sizeof *host);
    if (!host) return OUT_OF_MEMORY;
    *host = (struct host_function){function, argument, of(stream)};
    pthread_mutex_lock(&lock);
    host->stream->waiting++;
    pthread_mutex_unlock(&lock);
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_host_function, host)) abort();
    pthread_detach(thread);
    return SUCCESS;
}

// ---- Events: the time of their recording -----------------------------------------

struct event {
    struct timespec time;
    struct stream *stream;
    long copies; // that were queued before it
};

int cuEventCreate(struct event **event, unsigned flags) {
    ENTER();
    (void)flags;
    *event = calloc(1, sizeof **event);
    return *event ? SUCCESS : OUT_OF_MEMORY;
}

int cuEventRecord(struct event *event, struct stream *stream) {
    ENTER();
    event->stream = of(stream);
    pthread_mutex_lock(&lock);
    event->copies = event->stream->queued;
    pthread_mutex_unlock(&lock);
    clock_gettime(CLOCK_MONOTONIC, &event->time);
    return SUCCESS;
}

int cuEventSynchronize(struct event *event) {
    ENTER();
    if (event->stream) wait_until(event->stream, event->copies);
    return SUCCESS;
}

int cuEventQuery(struct event *event) {
    ENTER();
    pthread_mutex_lock(&lock);
    int done = !event->stream || event->stream->made >= event->copies;
    pthread_mutex_unlock(&lock);
    return done ? SUCCESS : NOT_READY;
}

int cuEventElapsedTime(float *milliseconds, struct event *start, struct event *end) {
    ENTER();
    double seconds = (double)(end->time.tv_sec - start->time.tv_sec);
    double nanoseconds = (double)(end->time.tv_nsec - start->time.tv_nsec);
    *milliseconds = (float)(seconds * 1e3 + nanoseconds * 1e-6);
    return SUCCESS;
}

int cuEventDestroy_v2(struct event *event) {
    ENTER();
    free(event);
    return SUCCESS;
}

int cuStreamWaitEvent(struct stream *stream, struct event *event, unsigned flags) {
    ENTER();
    (void)stream, (void)flags;
    // No stream waits for another, so what it would wait for is done now.
    if (event->stream && copies("late")) wait_until(event->stream, event->copies);
    return SUCCESS;
}

// ---- Memory ----------------------------------------------------------------------

// Before every block of "device" memory stands its size.
enum { HEADER = 64 };
static size_t used_bytes;

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    ENTER();
    pthread_mutex_lock(&lock);
    *total = memory_bytes();
    *free_bytes = *total - used_bytes;
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

int cuMemAllocAsync(uint64_t *pointer, size_t bytes, struct stream *stream) {
    ENTER();
    (void)stream;
    pthread_mutex_lock(&lock);
    int fits = bytes <= memory_bytes() - used_bytes;
    char *block = fits ? malloc(HEADER + bytes) : NULL;
    if (block) used_bytes += bytes;
    pthread_mutex_unlock(&lock);
    if (!block) return OUT_OF_MEMORY;
    memcpy(block, &bytes, sizeof bytes);
    *pointer = (uint64_t)(uintptr_t)(block + HEADER);
    return SUCCESS;
}

int cuMemFreeAsync(uint64_t pointer, struct stream *stream) {
    ENTER();
    (void)stream;
    char *block = (char *)(uintptr_t)pointer - HEADER;
    size_t bytes;
    memcpy(&bytes, block, sizeof bytes);
    pthread_mutex_lock(&lock);
    used_bytes -= bytes;
    pthread_mutex_unlock(&lock);
    free(block);
    return SUCCESS;
}

int cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
    ENTER();
    return cuMemAllocAsync(pointer, bytes, NULL);
}

int cuMemFree_v2(uint64_t pointer) {
    ENTER();
    return cuMemFreeAsync(pointer, NULL);
}

int cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
    ENTER();
    (void)flags;
    *pointer = malloc(bytes);
    return *pointer ? SUCCESS : OUT_OF_MEMORY;
}

int cuMemFreeHost(void *pointer) {
    ENTER();
    free(pointer);
    return SUCCESS;
}

static void *registered[16];

static int swap_registered(void *from, void *to, int otherwise) {
    int result = otherwise;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof registered / sizeof *registered; i++)
        if (registered[i] == from) {
            registered[i] = to;
            result = SUCCESS;
            break;
        }
    pthread_mutex_unlock(&lock);
    return result;
}

int cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned flags) {
    ENTER();
    (void)bytes, (void)flags;
    if (!swap_registered(pointer, pointer, NOT_REGISTERED)) return ALREADY_REGISTERED;
    return swap_registered(NULL, pointer, OUT_OF_MEMORY);
}

int cuMemHostUnregister(void *pointer) {
    ENTER();
    return swap_registered(pointer, NULL, NOT_REGISTERED);
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, struct stream *s) {
    ENTER();
    (void)s;
    memset((void *)(uintptr_t)to, value, bytes);
    // An experiment begins by keeping the GPU busy with such fills for half a second.
    // Not the processor too, which has other tests to run.
    if (bytes >= 16 << 20) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return SUCCESS;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, struct stream *s) {
    ENTER();
    char *target = (char *)(uintptr_t)to;
    if (copies("wait")) wait_for(of(s));
    int result = SUCCESS;
    if (!copies("skip")) result = copy(target, from, bytes, of(s));
    if (copies("corrupt")) target[bytes / 2]++;
    return result;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, struct stream *stream) {
    ENTER();
    return copy(to, (void *)(uintptr_t)from, bytes, of(stream));
}

// ---- Kernels: there are none -----------------------------------------------------

int cuModuleLoadData(void **module, const void *image) {
    ENTER();
    (void)module, (void)image;
    return INVALID_PTX;
}

// ---- NVML: the driver's release and the link -------------------------------------

int nvmlInit_v2(void) {
    ENTER();
    return SUCCESS;
}

int nvmlShutdown(void) {
    ENTER();
    return SUCCESS;
}

int nvmlSystemGetDriverVersion(char *version, unsigned length) {
    ENTER();
    snprintf(version, length, "570.0 (stand-in)");
    return SUCCESS;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device) {
    ENTER();
    (void)address;
    *device = contexts; // any address but NULL
    return SUCCESS;
}

static int link_number(int which, unsigned *number) {
    *number = (unsigned)peak(which);
    return *number ? SUCCESS : NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned *generation) {
    ENTER();
    (void)device;
    return link_number(1, generation);
}

int nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *lanes) {
    ENTER();
    (void)device;
    return link_number(2, lanes);
}
