/* A fake of libcuda and CUPTI for tests: memory of the host stands for the device's, kernels are functions in C.
 *
 * Calls are announced to the subscriber as CUPTI does. After the kernel `wild` the context is lost.
 */
#define _GNU_SOURCE
#include "../../../../gpuregress/lab/capture/injection/interface.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 256, ILLEGAL_ADDRESS = 700 };

typedef struct {
    Address base;
    size_t size;
} Allocation;

typedef struct {
    const char *name;
    unsigned count;
    size_t offsets[4], sizes[4];
} Known;

static Allocation allocations[MOST];
static unsigned allocation_count;
static Callback subscriber;
static unsigned char enabled[1024];
static int lost;
static float factor[4] = {1, 2, 3, 4};
static int counter;
static int is_capturing;
static Handle capturing; /* the stream */
static volatile int is_busy; /* a kernel waits for the host */

static const Known KERNELS[] = {
    {"_Z5saxpyIfEvT_PKS0_PS0_i", 4, {0, 8, 16, 24}, {4, 8, 8, 4}},
    {"_Z6packed4Args", 1, {0}, {24}},
    {"_Z4wildPfi", 2, {0, 8}, {8, 4}},
    {"_Z4spinPf", 1, {0}, {8}},
};

static Result announce(uint32_t id, const char *name, const void *params, const char *symbol, int site, Result result)
{
    CallbackData data = {.site = site, .function = name, .params = params, .result = &result, .symbol = symbol,
                         .context = (Handle)1};
    if (subscriber && enabled[id])
        subscriber(NULL, DOMAIN_DRIVER, id, &data);
    return result;
}

Result cuptiSubscribe(Handle *handle, Callback callback, void *user)
{
    (void)user;
    subscriber = callback;
    *handle = (Handle)1;
    return 0;
}

Result cuptiEnableCallback(uint32_t enable, Handle handle, int domain, uint32_t id)
{
    (void)handle;
    if (domain == DOMAIN_DRIVER && id < sizeof enabled)
        enabled[id] = (unsigned char)enable;
    return 0;
}

Result cuInit(unsigned flags)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*begin)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
    if (begin)
        begin();
    return (Result)flags;
}

Result cuCtxSetCurrent(Handle context)
{
    return context != (Handle)1;
}

Result cuCtxGetDevice(int *device)
{
    *device = 0;
    return 0;
}

Result cuDeviceGetName(char *name, int length, int device)
{
    (void)device;
    snprintf(name, (size_t)length, "Fake GPU");
    return 0;
}

Result cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute == 75 ? 9 : 0;
    return 0;
}

Result cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

Result cuGetErrorName(Result error, const char **name)
{
    *name = error == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_UNKNOWN";
    return 0;
}

Result cuMemAlloc_v2(Address *address, size_t size)
{
    void *memory = aligned_alloc(4096, (size + 4095) & ~(size_t)4095);
    *address = (Address)(uintptr_t)memory;
    allocations[allocation_count++] = (Allocation){*address, size};
    return announce(CB_MemAlloc, "cuMemAlloc_v2", NULL, NULL, SITE_EXIT, lost);
}

Result cuMemHostAlloc(void **memory, size_t size, unsigned flags)
{
    (void)flags;
    *memory = calloc(1, size);
    return 0;
}

Result cuMemcpyHtoD_v2(Address target, const void *source, size_t size)
{
    memcpy((void *)(uintptr_t)target, source, size);
    return announce(CB_MemcpyHtoD, "cuMemcpyHtoD_v2", NULL, NULL, SITE_EXIT, lost);
}

Result cuMemcpyDtoH_v2(void *target, Address source, size_t size)
{
    if (!lost)
        memcpy(target, (const void *)(uintptr_t)source, size);
    return announce(CB_MemcpyDtoH, "cuMemcpyDtoH_v2", NULL, NULL, SITE_EXIT, lost);
}

Result cuPointerGetAttributes(unsigned count, int *attributes, void **data, Address pointer)
{
    for (unsigned i = 0; i < allocation_count; i++) {
        if (pointer < allocations[i].base || pointer - allocations[i].base >= allocations[i].size)
            continue;
        for (unsigned k = 0; k < count; k++) {
            if (attributes[k] == POINTER_RANGE_START)
                *(Address *)data[k] = allocations[i].base;
            else if (attributes[k] == POINTER_RANGE_SIZE)
                *(size_t *)data[k] = allocations[i].size;
            else if (attributes[k] == POINTER_MEMORY_TYPE)
                *(unsigned *)data[k] = MEMORY_DEVICE;
            else if (attributes[k] == POINTER_DEVICE)
                *(int *)data[k] = 0;
        }
        return 0;
    }
    return 0; /* the driver answers with zeros for an unknown address */
}

Result cuModuleLoadData(Handle *module, const void *image)
{
    LoadParams params = {module, image};
    const char *path = getenv("FAKE_CUBIN");
    FILE *file = path ? fopen(path, "rb") : NULL;
    static char cubin[1 << 16];
    announce(CB_ModuleLoadData, "cuModuleLoadData", &params, NULL, SITE_ENTER, 0);
    if (file) {
        ModuleData data = {1, fread(cubin, 1, sizeof cubin, file), cubin};
        ResourceData resource = {(Handle)1, NULL, &data};
        fclose(file);
        if (subscriber)
            subscriber(NULL, DOMAIN_RESOURCE, RESOURCE_MODULE_LOADED, &resource);
    }
    *module = (Handle)16;
    return announce(CB_ModuleLoadData, "cuModuleLoadData", &params, NULL, SITE_EXIT, 0);
}

Result cuModuleGetFunction(Handle *function, Handle module, const char *name)
{
    (void)module;
    for (size_t i = 0; i < sizeof KERNELS / sizeof *KERNELS; i++)
        if (strcmp(KERNELS[i].name, name) == 0) {
            *function = (Handle)&KERNELS[i];
            return 0;
        }
    return 500;
}

Result cuModuleGetGlobal_v2(Address *address, size_t *size, Handle module, const char *name)
{
    (void)module;
    int is_factor = strcmp(name, "factor") == 0;
    *address = (Address)(uintptr_t)(is_factor ? (void *)factor : (void *)&counter);
    *size = is_factor ? sizeof factor : sizeof counter;
    return 0;
}

Result cuFuncGetModule(Handle *module, Handle function)
{
    (void)function;
    *module = (Handle)16;
    return 0;
}

Result cuFuncGetParamInfo(Handle function, size_t index, size_t *offset, size_t *size)
{
    const Known *known = function;
    if (index >= known->count)
        return 1;
    *offset = known->offsets[index];
    *size = known->sizes[index];
    return 0;
}

static void execute(const Known *kernel, void **params)
{
    if (kernel == &KERNELS[0]) {
        float a = *(float *)params[0];
        const float *x = *(const float **)params[1];
        float *y = *(float **)params[2];
        for (int i = 0; i < *(int *)params[3]; i++)
            y[i] = __builtin_fmaf(a, x[i], y[i]);
    } else if (kernel == &KERNELS[1]) {
        const struct {
            const float *x;
            float *y;
            int n;
            float a;
        } *args = params[0];
        for (int i = 0; i < args->n; i++) {
            args->y[i] = args->a * args->x[i] * factor[i & 3];
            counter++;
        }
    } else if (kernel == &KERNELS[2]) {
        lost = ILLEGAL_ADDRESS;
    } else { /* it waits for the next launch of the same kernel */
        is_busy = !is_busy;
    }
}

Result cuLaunchKernel(Handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, Handle stream, void **params, void **extra)
{
    LaunchParams all = {function, {gx, gy, gz}, {bx, by, bz}, shared, stream, params, extra};
    const Known *kernel = function;
    announce(CB_LaunchKernel, "cuLaunchKernel", &all, kernel->name, SITE_ENTER, 0);
    if (!lost && !(is_capturing && stream == capturing))
        execute(kernel, params);
    return announce(CB_LaunchKernel, "cuLaunchKernel", &all, kernel->name, SITE_EXIT, 0);
}

Result cuStreamWriteValue32_v2(Handle stream, Address address, uint32_t value, unsigned flags)
{
    (void)stream;
    (void)flags;
    if (!lost)
        *(uint32_t *)(uintptr_t)address = value;
    return 0;
}

Result cuStreamBeginCapture_v2(Handle stream, int mode)
{
    (void)mode;
    StreamParams params = {stream};
    is_capturing = 1;
    capturing = stream;
    return announce(CB_StreamBeginCapture_v2, "cuStreamBeginCapture_v2", &params, NULL, SITE_EXIT, 0);
}

Result cuStreamGetCaptureInfo_v2(Handle stream, int *status, uint64_t *id, Handle *graph, const Handle **nodes, size_t *count)
{
    (void)nodes;
    (void)count;
    *status = is_capturing && stream == capturing;
    *id = 7;
    *graph = *status ? (Handle)3 : NULL;
    return 0;
}

Result cuStreamEndCapture(Handle stream, Handle *graph)
{
    StreamParams params = {stream};
    announce(CB_StreamEndCapture, "cuStreamEndCapture", &params, NULL, SITE_ENTER, 0);
    *graph = (Handle)3;
    is_capturing = 0;
    return announce(CB_StreamEndCapture, "cuStreamEndCapture", &params, NULL, SITE_EXIT, 0);
}

Result cuGraphInstantiateWithFlags(Handle *executable, Handle graph, unsigned long long flags)
{
    (void)flags;
    InstantiateParams params = {executable, graph};
    *executable = (Handle)5;
    return announce(CB_GraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", &params, NULL, SITE_EXIT, 0);
}

Result cuGraphLaunch(Handle executable, Handle stream)
{
    GraphLaunchParams params = {executable, stream};
    announce(CB_GraphLaunch, "cuGraphLaunch", &params, NULL, SITE_ENTER, 0);
    return announce(CB_GraphLaunch, "cuGraphLaunch", &params, NULL, SITE_EXIT, 0);
}

Result cuStreamSynchronize(Handle stream)
{
    StreamParams params = {stream};
    return announce(CB_StreamSynchronize, "cuStreamSynchronize", &params, NULL, SITE_EXIT, lost);
}

Result cuCtxSynchronize(void)
{
    while (is_busy)
        usleep(1000);
    return announce(CB_CtxSynchronize, "cuCtxSynchronize", NULL, NULL, SITE_EXIT, lost);
}
