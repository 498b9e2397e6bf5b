/* The functions of the driver that the runtime calls (cuda.h of CUDA 13.0).
 *
 * They are declared here, so that the library is compiled without the CUDA toolkit. Handles are untyped pointers. Where
 * the runtime and the driver give a structure, an enumeration or an error code the same layout and numbers, the
 * runtime's is passed on.
 */
#ifndef GPUREGRESS_RUNTIME_DRIVER_H
#define GPUREGRESS_RUNTIME_DRIVER_H

#include "types.h"

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef void *CUcontext;
typedef void *CUstream;
typedef void *CUevent;
typedef void *CUarray;
typedef void *CUfunction;
typedef void *CUkernel;
typedef void *CUlibrary;

enum { DRIVER_MEMORY_HOST = 1, DRIVER_MEMORY_DEVICE, DRIVER_MEMORY_ARRAY, DRIVER_MEMORY_UNIFIED };

typedef struct {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    int srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    void *reserved0;
    size_t srcPitch, srcHeight;
    size_t dstXInBytes, dstY, dstZ, dstLOD;
    int dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    void *reserved1;
    size_t dstPitch, dstHeight;
    size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;

typedef struct {
    size_t Width, Height, Depth;
    int Format;
    unsigned NumChannels;
    unsigned Flags;
} CUDA_ARRAY3D_DESCRIPTOR;

typedef struct {
    int resType;
    union {
        void *array; /* or mipmapped array */
        struct {
            CUdeviceptr devPtr;
            int format;
            unsigned numChannels;
            size_t sizeInBytes;
        } linear;
        struct {
            CUdeviceptr devPtr;
            int format;
            unsigned numChannels;
            size_t width, height, pitchInBytes;
        } pitch2D;
        int reserved[32];
    } res;
    unsigned flags;
} CUDA_RESOURCE_DESC;

enum { TEXTURE_READ_AS_INTEGER = 1, TEXTURE_NORMALIZED_COORDINATES = 2, TEXTURE_SRGB = 0x10,
       TEXTURE_NO_TRILINEAR_OPTIMIZATION = 0x20, TEXTURE_SEAMLESS_CUBEMAP = 0x40 };

typedef struct {
    int addressMode[3];
    int filterMode;
    unsigned flags;
    unsigned maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    float borderColor[4];
    int reserved[12];
} CUDA_TEXTURE_DESC;

typedef struct {
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    CUstream hStream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
} CUlaunchConfig;

typedef struct {
    CUfunction func;
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    void **kernelParams, **extra;
    CUkernel kern;
    CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;

/* Start, devices, contexts */
CUresult cuInit(unsigned flags);
CUresult cuDriverGetVersion(int *version);
CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status);
CUresult cuDeviceGetCount(int *count);
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDeviceGetName(char *name, int length, CUdevice device);
CUresult cuDeviceGetUuid_v2(cudaUUID_t *uuid, CUdevice device);
CUresult cuDeviceGetLuid(char *luid, unsigned *mask, CUdevice device);
CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device);
CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device);
CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device);
CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *id);
CUresult cuDeviceCanAccessPeer(int *possible, CUdevice device, CUdevice peer);
CUresult cuDeviceGetP2PAttribute(int *value, int attribute, CUdevice source, CUdevice destination);
CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *width, int format, unsigned channels, CUdevice device);
CUresult cuDeviceGetDefaultMemPool(cudaMemPool_t *pool, CUdevice device);
CUresult cuDeviceGetMemPool(cudaMemPool_t *pool, CUdevice device);
CUresult cuDeviceSetMemPool(CUdevice device, cudaMemPool_t pool);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active);
CUresult cuCtxGetCurrent(CUcontext *context);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxGetDevice(CUdevice *device);
CUresult cuCtxSynchronize(void);
CUresult cuCtxSetLimit(int limit, size_t value);
CUresult cuCtxGetLimit(size_t *value, int limit);
CUresult cuCtxSetCacheConfig(int config);
CUresult cuCtxGetCacheConfig(int *config);
CUresult cuCtxSetSharedMemConfig(int config);
CUresult cuCtxGetSharedMemConfig(int *config);
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest);
CUresult cuCtxResetPersistingL2Cache(void);
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);

/* Programs and kernels */
CUresult cuLibraryLoadData(CUlibrary *library, const void *code, void *options, void **values, unsigned count,
                           void *library_options, void **library_values, unsigned library_count);
CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *file, void *options, void **values, unsigned count,
                               void *library_options, void **library_values, unsigned library_count);
CUresult cuLibraryUnload(CUlibrary library);
CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name);
CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name);
CUresult cuLibraryGetManaged(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name);
CUresult cuLibraryGetUnifiedFunction(void **function, CUlibrary library, const char *name);
CUresult cuLibraryGetKernelCount(unsigned *count, CUlibrary library);
CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned count, CUlibrary library);
CUresult cuLinkCreate_v2(unsigned count, void *options, void **values, void **link);
CUresult cuLinkAddData_v2(void *link, int type, void *data, size_t bytes, const char *name, unsigned count, void *options,
                          void **values);
CUresult cuLinkComplete(void *link, void **image, size_t *bytes);
CUresult cuLinkDestroy(void *link);
CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel);
CUresult cuKernelSetAttribute(int attribute, int value, CUkernel kernel, CUdevice device);
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size);
CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function);
CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value);
CUresult cuFuncSetCacheConfig(CUfunction function, int config);
CUresult cuFuncSetSharedMemConfig(CUfunction function, int config);
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments, void **extra);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function, int block_size,
                                                              size_t shared, unsigned flags);
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *shared, CUfunction function, int blocks, int block_size);
CUresult cuOccupancyMaxPotentialClusterSize(int *size, CUfunction function, const CUlaunchConfig *config);
CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction function, const CUlaunchConfig *config);

/* Memory */
CUresult cuMemGetInfo_v2(size_t *free, size_t *total);
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element_size);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags);
CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags);
CUresult cuMemFreeHost(void *pointer);
CUresult cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned flags);
CUresult cuMemHostUnregister(void *pointer);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *pointer, unsigned flags);
CUresult cuMemHostGetFlags(unsigned *flags, void *pointer);
CUresult cuPointerGetAttributes(unsigned count, int *attributes, void **values, CUdeviceptr address);
CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, int advice, cudaMemLocation location);
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, cudaMemLocation location, unsigned flags,
                               CUstream stream);
CUresult cuMemRangeGetAttribute(void *data, size_t size, int attribute, CUdeviceptr address, size_t bytes);
CUresult cuMemRangeGetAttributes(void **data, size_t *sizes, int *attributes, size_t count, CUdeviceptr address,
                                 size_t bytes);
CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, cudaMemPool_t pool, CUstream stream);
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream);
CUresult cuMemPoolCreate(cudaMemPool_t *pool, const void *properties);
CUresult cuMemPoolDestroy(cudaMemPool_t pool);
CUresult cuMemPoolTrimTo(cudaMemPool_t pool, size_t bytes);
CUresult cuMemPoolSetAttribute(cudaMemPool_t pool, int attribute, void *value);
CUresult cuMemPoolGetAttribute(cudaMemPool_t pool, int attribute, void *value);
CUresult cuMemPoolSetAccess(cudaMemPool_t pool, const void *descriptors, size_t count);
CUresult cuMemPoolGetAccess(int *flags, cudaMemPool_t pool, cudaMemLocation *location);

/* Copies */
CUresult cuMemcpyAsync(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr destination, const void *source, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoHAsync_v2(void *destination, CUdeviceptr source, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream);
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream);
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t count, CUstream stream);
CUresult cuMemsetD2D8Async(CUdeviceptr address, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream);

/* Streams and events */
CUresult cuStreamCreate(CUstream *stream, unsigned flags);
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority);
CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuStreamGetPriority(CUstream stream, int *priority);
CUresult cuStreamGetFlags(CUstream stream, unsigned *flags);
CUresult cuStreamGetId(CUstream stream, uint64_t *id);
CUresult cuStreamGetDevice(CUstream stream, CUdevice *device);
CUresult cuStreamQuery(CUstream stream);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
CUresult cuStreamAddCallback(CUstream stream, cudaStreamCallback_t callback, void *data, unsigned flags);
CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t bytes, unsigned flags);
CUresult cuStreamGetAttribute(CUstream stream, int attribute, void *value);
CUresult cuStreamSetAttribute(CUstream stream, int attribute, const void *value);
CUresult cuStreamCopyAttributes(CUstream destination, CUstream source);
CUresult cuStreamBeginCapture_v2(CUstream stream, int mode);
CUresult cuStreamEndCapture(CUstream stream, cudaGraph_t *graph);
CUresult cuStreamIsCapturing(CUstream stream, int *status);
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, int *status, uint64_t *id, cudaGraph_t *graph,
                                   const cudaGraphNode_t **nodes, const void **edges, size_t *count);
CUresult cuThreadExchangeStreamCaptureMode(int *mode);
CUresult cuGraphInstantiateWithFlags(cudaGraphExec_t *instance, cudaGraph_t graph, unsigned long long flags);
CUresult cuGraphInstantiateWithParams(cudaGraphExec_t *instance, cudaGraph_t graph, void *params);
CUresult cuGraphClone(cudaGraph_t *clone, cudaGraph_t graph);
CUresult cuGraphLaunch(cudaGraphExec_t instance, CUstream stream);
CUresult cuGraphUpload(cudaGraphExec_t instance, CUstream stream);
CUresult cuGraphDestroy(cudaGraph_t graph);
CUresult cuGraphExecDestroy(cudaGraphExec_t instance);
CUresult cuGraphExecUpdate_v2(cudaGraphExec_t instance, cudaGraph_t graph, void *result_info);
CUresult cuDeviceGetGraphMemAttribute(CUdevice device, int attribute, void *value);
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, int attribute, void *value);
CUresult cuDeviceGraphMemTrim(CUdevice device);
CUresult cuUserObjectCreate(void **object, void *data, cudaHostFn_t destroy, unsigned references, unsigned flags);
CUresult cuUserObjectRetain(void *object, unsigned count);
CUresult cuUserObjectRelease(void *object, unsigned count);
CUresult cuGraphRetainUserObject(cudaGraph_t graph, void *object, unsigned count, unsigned flags);
CUresult cuGraphReleaseUserObject(cudaGraph_t graph, void *object, unsigned count);
CUresult cuGraphCreate(cudaGraph_t *graph, unsigned flags);
CUresult cuGraphAddKernelNode_v2(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS *parameters);
CUresult cuGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                              const CUDA_MEMCPY3D *copy, CUcontext context);
CUresult cuGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                              const void *fill, CUcontext context);
CUresult cuGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                            const void *call);
CUresult cuGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count);
CUresult cuGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                                void *allocation);
CUresult cuGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                               CUdeviceptr address);
CUresult cuGraphAddDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                   const void *edges, size_t count);
CUresult cuGraphKernelNodeSetParams_v2(cudaGraphNode_t node, const CUDA_KERNEL_NODE_PARAMS *parameters);
CUresult cuGraphExecKernelNodeSetParams_v2(cudaGraphExec_t instance, cudaGraphNode_t node,
                                           const CUDA_KERNEL_NODE_PARAMS *parameters);
CUresult cuGraphMemcpyNodeSetParams(cudaGraphNode_t node, const CUDA_MEMCPY3D *copy);
CUresult cuGraphExecMemcpyNodeSetParams(cudaGraphExec_t instance, cudaGraphNode_t node, const CUDA_MEMCPY3D *copy,
                                        CUcontext context);
CUresult cuGraphMemsetNodeSetParams(cudaGraphNode_t node, const void *fill);
CUresult cuGraphExecMemsetNodeSetParams(cudaGraphExec_t instance, cudaGraphNode_t node, const void *fill, CUcontext context);
CUresult cuGraphHostNodeSetParams(cudaGraphNode_t node, const void *call);
CUresult cuGraphExecHostNodeSetParams(cudaGraphExec_t instance, cudaGraphNode_t node, const void *call);
CUresult cuGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);
CUresult cuGraphNodeGetType(cudaGraphNode_t node, int *type);
CUresult cuLaunchHostFunc(CUstream stream, cudaHostFn_t function, void *data);
CUresult cuEventCreate(CUevent *event, unsigned flags);
CUresult cuEventDestroy_v2(CUevent event);
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags);
CUresult cuEventQuery(CUevent event);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end);

/* Arrays, textures, surfaces */
CUresult cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *descriptor);
CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *descriptor, CUarray array);
CUresult cuArrayDestroy(CUarray array);
CUresult cuMipmappedArrayCreate(void **mipmapped, const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned levels);
CUresult cuMipmappedArrayGetLevel(CUarray *array, void *mipmapped, unsigned level);
CUresult cuMipmappedArrayDestroy(void *mipmapped);
CUresult cuTexObjectCreate(cudaTextureObject_t *texture, const CUDA_RESOURCE_DESC *resource,
                           const CUDA_TEXTURE_DESC *description, const cudaResourceViewDesc *view);
CUresult cuTexObjectDestroy(cudaTextureObject_t texture);
CUresult cuTexObjectGetResourceViewDesc(cudaResourceViewDesc *view, cudaTextureObject_t texture);
CUresult cuSurfObjectCreate(cudaSurfaceObject_t *surface, const CUDA_RESOURCE_DESC *resource);
CUresult cuSurfObjectDestroy(cudaSurfaceObject_t surface);

#endif
