/* Interface of the CUDA driver and of CUPTI: the part that the injection library uses.
 *
 * Both interfaces are stable: numbers of callbacks and members of structures are only ever added. They are declared
 * here, so that the library is compiled without the CUDA toolkit. Functions are looked up when it is loaded.
 */
#ifndef GPUREGRESS_INTERFACE_H
#define GPUREGRESS_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

typedef int Result; /* CUresult and CUptiResult */
typedef uint64_t Address; /* CUdeviceptr */
typedef void *Handle; /* CUcontext, CUstream, CUfunction, CUkernel, CUmodule, CUlibrary, CUgraph, CUgraphNode */

enum {
    POINTER_MEMORY_TYPE = 2,
    POINTER_IS_MANAGED = 8,
    POINTER_DEVICE = 9,
    POINTER_RANGE_START = 11,
    POINTER_RANGE_SIZE = 12,
    POINTER_MAPPED = 13,
};

enum { MEMORY_HOST = 1, MEMORY_DEVICE = 2 };
enum { ATTRIBUTE_COOPERATIVE = 2, ATTRIBUTE_CLUSTER = 4 };
enum { EXTRA_END = 0, EXTRA_BUFFER = 1, EXTRA_SIZE = 2 };
enum { HOST_ALLOC_PORTABLE = 1, HOST_ALLOC_MAPPED = 2 };
enum { CAPTURE_MODE_RELAXED = 2 };
enum { FUNCTION_ATTRIBUTE_STATIC_SHARED = 1, FUNCTION_ATTRIBUTE_REGISTERS = 4 };

typedef struct {
    unsigned id;
    char padding[4];
    union {
        char padding[64];
        int number;
        struct {
            unsigned x, y, z;
        } cluster;
    } value;
} LaunchAttribute;

typedef struct {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared;
    Handle stream;
    LaunchAttribute *attributes;
    unsigned attribute_count;
} LaunchConfig;

/* Parameters of cuLaunchKernel; those of cuLaunchCooperativeKernel are the same without `extra`. */
typedef struct {
    Handle function;
    unsigned grid[3];
    unsigned block[3];
    unsigned shared;
    Handle stream;
    void **params;
    void **extra;
} LaunchParams;

typedef struct {
    const LaunchConfig *config;
    Handle function;
    void **params;
    void **extra;
} LaunchExParams;

typedef struct {
    Handle executable;
    Handle stream;
} GraphLaunchParams;

/* Parameters of the functions that instantiate a graph begin so. */
typedef struct {
    Handle *executable;
    Handle graph;
} InstantiateParams;

/* Parameters of the functions that load a module or a library begin so. */
typedef struct {
    Handle *loaded;
    const void *image;
} LoadParams;

typedef struct {
    Handle stream;
} StreamParams;

typedef struct {
    Handle graph;
} GraphParams;

typedef struct {
    Handle context;
} ContextParams;

enum { DOMAIN_DRIVER = 1, DOMAIN_RESOURCE = 3 };
enum { SITE_ENTER = 0, SITE_EXIT = 1 };
enum { RESOURCE_MODULE_LOADED = 6 };

typedef struct {
    int site;
    const char *function;
    const void *params;
    void *result;
    const char *symbol;
    Handle context;
    uint32_t context_uid;
    uint64_t *correlation;
    uint32_t correlation_id;
} CallbackData;

typedef struct {
    Handle context;
    Handle handle;
    void *descriptor;
} ResourceData;

typedef struct {
    uint32_t module;
    size_t size;
    const char *cubin;
} ModuleData;

/* Numbers of the driver's functions in CUPTI's callbacks (CUpti_driver_api_trace_cbid). */
enum {
    CB_CtxSynchronize = 17,
    CB_ModuleLoad = 18,
    CB_ModuleLoadData = 19,
    CB_ModuleLoadDataEx = 20,
    CB_ModuleLoadFatBinary = 21,
    CB_ModuleUnload = 22,
    CB_EventQuery = 120,
    CB_EventSynchronize = 121,
    CB_StreamQuery = 125,
    CB_StreamSynchronize = 126,
    CB_StreamDestroy = 127,
    CB_MemAlloc = 243,
    CB_MemFree = 245,
    CB_MemcpyHtoD = 276,
    CB_MemcpyDtoH = 278,
    CB_MemcpyDtoHAsync = 279,
    CB_Memcpy = 305,
    CB_MemcpyAsync = 306,
    CB_LaunchKernel = 307,
    CB_StreamDestroy_v2 = 326,
    CB_MemcpyHtoD_ptds = 397,
    CB_MemcpyDtoH_ptds = 398,
    CB_Memcpy_ptds = 408,
    CB_MemcpyAsync_ptsz = 418,
    CB_MemcpyDtoHAsync_ptsz = 422,
    CB_StreamQuery_ptsz = 439,
    CB_StreamSynchronize_ptsz = 440,
    CB_LaunchKernel_ptsz = 442,
    CB_LaunchCooperative = 477,
    CB_LaunchCooperative_ptsz = 478,
    CB_LaunchCooperativeMultiDevice = 480,
    CB_StreamBeginCapture = 495,
    CB_StreamBeginCapture_ptsz = 496,
    CB_StreamEndCapture = 497,
    CB_StreamEndCapture_ptsz = 498,
    CB_GraphInstantiate = 513,
    CB_GraphLaunch = 514,
    CB_GraphLaunch_ptsz = 515,
    CB_GraphDestroy = 517,
    CB_StreamBeginCapture_v2 = 539,
    CB_StreamBeginCapture_v2_ptsz = 540,
    CB_GraphInstantiate_v2 = 578,
    CB_GraphInstantiateWithFlags = 643,
    CB_LaunchKernelEx = 652,
    CB_LaunchKernelEx_ptsz = 653,
    CB_GraphInstantiateWithParams = 656,
    CB_GraphInstantiateWithParams_ptsz = 657,
    CB_LibraryLoadData = 678,
    CB_LibraryLoadFromFile = 679,
    CB_LibraryUnload = 680,
    CB_StreamBeginCaptureToGraph = 720,
    CB_StreamBeginCaptureToGraph_ptsz = 721,
    CB_CtxSynchronize_v2 = 800,
};

typedef void (*Callback)(void *user, int domain, uint32_t id, const void *data);

/* The functions of libcuda that are called; null where the driver has none of that name. */
typedef struct {
    Result (*ctx_get_device)(int *device);
    Result (*ctx_set_current)(Handle context);
    Result (*ctx_synchronize)(void);
    Result (*device_get_name)(char *name, int length, int device);
    Result (*device_get_attribute)(int *value, int attribute, int device);
    Result (*driver_get_version)(int *version);
    Result (*func_get_param_info)(Handle function, size_t index, size_t *offset, size_t *size);
    Result (*func_get_attribute)(int *value, int attribute, Handle function);
    Result (*func_get_module)(Handle *module, Handle function);
    Result (*func_get_name)(const char **name, Handle function);
    Result (*func_load)(Handle function);
    Result (*get_error_name)(Result error, const char **name);
    Result (*kernel_get_function)(Handle *function, Handle kernel);
    Result (*kernel_get_library)(Handle *library, Handle kernel);
    Result (*mem_host_alloc)(void **pointer, size_t size, unsigned flags);
    Result (*memcpy_dtoh)(void *target, Address source, size_t size);
    Result (*module_get_global)(Address *address, size_t *size, Handle module, const char *name);
    Result (*pointer_get_attributes)(unsigned count, int *attributes, void **data, Address pointer);
    Result (*stream_get_capture_info)(Handle stream, int *status, uint64_t *id, Handle *graph, const Handle **nodes, size_t *count);
    Result (*stream_synchronize)(Handle stream);
    Result (*stream_write_value)(Handle stream, Address address, uint32_t value, unsigned flags);
    Result (*thread_exchange_capture_mode)(int *mode);
} Driver;

#endif
