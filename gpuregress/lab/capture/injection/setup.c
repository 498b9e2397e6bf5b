/* Injection library: sees every launch of a process through CUPTI's callbacks.
 *
 * The driver loads it because CUDA_INJECTION64_PATH names it, and calls InitializeInjection. The environment says what
 * to keep (`Request`).
 */
#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Request request;
Driver driver;
char process_name[256];
size_t process_name_length;
bool is_forked;

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && text[0] ? strtoull(text, NULL, 10) : otherwise;
}

static bool read_request(void)
{
    request.folder = getenv("GPUREGRESS_CAPTURE_FOLDER");
    request.kernels = getenv("GPUREGRESS_CAPTURE_KERNEL");
    if (!request.kernels)
        request.kernels = "*";
    request.nth = number_of("GPUREGRESS_CAPTURE_NTH", 0);
    request.every = number_of("GPUREGRESS_CAPTURE_EVERY", 0);
    request.max = number_of("GPUREGRESS_CAPTURE_MAX", 0);
    request.max_bytes = number_of("GPUREGRESS_CAPTURE_MAX_BYTES", 1ull << 30);
    request.sync = number_of("GPUREGRESS_CAPTURE_SYNC", 0) != 0;
    request.wait = (double)number_of("GPUREGRESS_CAPTURE_WAIT", 60);
    request.is_log_only = !request.nth && !request.every && !request.max;
    return request.folder != NULL;
}

static void stop_in_child(void)
{
    is_forked = true;
}

static void note_exit(int status, void *unused)
{
    (void)unused;
    if (!is_forked)
        log_exit(status);
}

static void *look_up(void *library, const char *name, const char *otherwise)
{
    void *found = dlsym(library, name);
    return found || !otherwise ? found : dlsym(library, otherwise);
}

static void find_driver(void)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!cuda)
        return;
    *(void **)&driver.ctx_get_device = look_up(cuda, "cuCtxGetDevice", NULL);
    *(void **)&driver.ctx_set_current = look_up(cuda, "cuCtxSetCurrent", NULL);
    *(void **)&driver.ctx_synchronize = look_up(cuda, "cuCtxSynchronize", NULL);
    *(void **)&driver.device_get_name = look_up(cuda, "cuDeviceGetName", NULL);
    *(void **)&driver.device_get_attribute = look_up(cuda, "cuDeviceGetAttribute", NULL);
    *(void **)&driver.driver_get_version = look_up(cuda, "cuDriverGetVersion", NULL);
    *(void **)&driver.func_get_param_info = look_up(cuda, "cuFuncGetParamInfo", NULL);
    *(void **)&driver.func_get_attribute = look_up(cuda, "cuFuncGetAttribute", NULL);
    *(void **)&driver.func_get_module = look_up(cuda, "cuFuncGetModule", NULL);
    *(void **)&driver.func_load = look_up(cuda, "cuFuncLoad", NULL);
    *(void **)&driver.func_get_name = look_up(cuda, "cuFuncGetName", NULL);
    *(void **)&driver.get_error_name = look_up(cuda, "cuGetErrorName", NULL);
    *(void **)&driver.kernel_get_function = look_up(cuda, "cuKernelGetFunction", NULL);
    *(void **)&driver.kernel_get_library = look_up(cuda, "cuKernelGetLibrary", NULL);
    *(void **)&driver.mem_host_alloc = look_up(cuda, "cuMemHostAlloc", NULL);
    *(void **)&driver.memcpy_dtoh = look_up(cuda, "cuMemcpyDtoH_v2", NULL);
    *(void **)&driver.module_get_global = look_up(cuda, "cuModuleGetGlobal_v2", NULL);
    *(void **)&driver.pointer_get_attributes = look_up(cuda, "cuPointerGetAttributes", NULL);
    *(void **)&driver.stream_get_capture_info = look_up(cuda, "cuStreamGetCaptureInfo_v2", NULL);
    *(void **)&driver.stream_synchronize = look_up(cuda, "cuStreamSynchronize", NULL);
    *(void **)&driver.stream_write_value = look_up(cuda, "cuStreamWriteValue32_v2", "cuStreamWriteValue32");
    *(void **)&driver.thread_exchange_capture_mode = look_up(cuda, "cuThreadExchangeStreamCaptureMode", NULL);
}

static const uint32_t CALLS[] = {
    CB_LaunchKernel, CB_LaunchKernel_ptsz, CB_LaunchKernelEx, CB_LaunchKernelEx_ptsz, CB_LaunchCooperative,
    CB_LaunchCooperative_ptsz, CB_GraphLaunch, CB_GraphLaunch_ptsz, CB_GraphInstantiate,
    CB_GraphInstantiate_v2, CB_GraphInstantiateWithFlags, CB_GraphInstantiateWithParams,
    CB_GraphInstantiateWithParams_ptsz, CB_StreamBeginCapture, CB_StreamBeginCapture_ptsz,
    CB_StreamBeginCapture_v2, CB_StreamBeginCapture_v2_ptsz, CB_StreamBeginCaptureToGraph,
    CB_StreamBeginCaptureToGraph_ptsz, CB_StreamEndCapture, CB_StreamEndCapture_ptsz, CB_StreamDestroy,
    CB_StreamDestroy_v2, CB_GraphDestroy, CB_ModuleLoad, CB_ModuleLoadData,
    CB_ModuleLoadDataEx, CB_ModuleLoadFatBinary, CB_ModuleUnload, CB_LibraryLoadData, CB_LibraryLoadFromFile,
    CB_LibraryUnload, CB_CtxSynchronize, CB_CtxSynchronize_v2, CB_StreamSynchronize, CB_StreamSynchronize_ptsz,
    CB_EventSynchronize, CB_StreamQuery, CB_StreamQuery_ptsz, CB_EventQuery, CB_MemcpyDtoH, CB_MemcpyDtoH_ptds,
    CB_MemcpyDtoHAsync, CB_MemcpyDtoHAsync_ptsz, CB_MemcpyHtoD, CB_MemcpyHtoD_ptds, CB_Memcpy, CB_Memcpy_ptds,
    CB_MemcpyAsync, CB_MemcpyAsync_ptsz, CB_MemAlloc, CB_MemFree,
};

static bool subscribe(void)
{
    const char *path = getenv("GPUREGRESS_CAPTURE_CUPTI");
    void *cupti = dlopen(path && path[0] ? path : "libcupti.so", RTLD_NOW | RTLD_GLOBAL);
    if (!cupti) {
        write_problem(dlerror());
        return false;
    }
    Result (*cupti_subscribe)(Handle *, Callback, void *);
    Result (*enable)(uint32_t, Handle, int, uint32_t);
    *(void **)&cupti_subscribe = dlsym(cupti, "cuptiSubscribe");
    *(void **)&enable = dlsym(cupti, "cuptiEnableCallback");
    Handle subscriber;
    Result error = cupti_subscribe && enable ? cupti_subscribe(&subscriber, on_call, NULL) : -1;
    if (error != 0) {
        char text[200];
        snprintf(text, sizeof text, "cuptiSubscribe failed with error %d; another profiler may be attached", error);
        write_problem(text);
        return false;
    }
    for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++)
        enable(1, subscriber, DOMAIN_DRIVER, CALLS[i]);
    if (!request.is_log_only) /* images are of chosen launches */
        enable(1, subscriber, DOMAIN_RESOURCE, RESOURCE_MODULE_LOADED);
    return true;
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
    char comm[128] = "process", line[192];
    if (!read_request())
        return 1;
    FILE *file = fopen("/proc/self/comm", "r");
    if (file) {
        if (fgets(comm, sizeof comm, file))
            comm[strcspn(comm, "\n")] = 0;
        fclose(file);
    }
    snprintf(line, sizeof line, "%s[%d]", comm, (int)getpid());
    escape(line, process_name, sizeof process_name);
    process_name_length = strlen(process_name);
    find_driver();
    open_log();
    prepare_launches();
    pthread_atfork(NULL, NULL, stop_in_child);
    on_exit(note_exit, NULL);
    subscribe();
    return 1;
}
