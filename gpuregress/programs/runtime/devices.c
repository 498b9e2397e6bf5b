/* Devices: start, current device, properties, limits, versions. */
#include <pthread.h>
#include <string.h>

#include "runtime.h"

enum { RUNTIME_VERSION = 13000, MAX_DEVICES = 64 };

static pthread_once_t started = PTHREAD_ONCE_INIT;
static cudaError_t start_error;
static _Thread_local int current_device;
static _Thread_local bool device_was_chosen; /* cudaSetDevice was called and no context made current since */

static void start(void)
{
    start_error = (cudaError_t)cuInit(0);
}

static cudaError_t start_driver(void)
{
    pthread_once(&started, start);
    return start_error;
}

/* Evaluate a call that needs the driver and no context. */
#define STARTED(call)                                \
    ({                                               \
        cudaError_t code_of_call = start_driver();   \
        if (code_of_call == cudaSuccess)             \
            code_of_call = (cudaError_t)(call);      \
        record_error(code_of_call);                  \
    })

static cudaError_t make_primary_context_current(int device)
{
    static CUcontext contexts[MAX_DEVICES]; /* a second retain of the same device returns the same context */
    if (device >= MAX_DEVICES)
        return cudaErrorInvalidDevice;
    cudaError_t code = cudaSuccess;
    if (!contexts[device])
        code = (cudaError_t)cuDevicePrimaryCtxRetain(&contexts[device], device);
    if (code == cudaSuccess)
        code = (cudaError_t)cuCtxSetCurrent(contexts[device]);
    return code;
}

cudaError_t use_device(void)
{
    cudaError_t code = start_driver();
    CUcontext context = NULL;
    if (code != cudaSuccess)
        return code;
    if (!device_was_chosen)
        cuCtxGetCurrent(&context);
    if (context)
        return cudaSuccess;
    device_was_chosen = false;
    return make_primary_context_current(current_device);
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 0;
    cudaError_t code = STARTED(cuDeviceGetCount(count));
    if (code == cudaSuccess && *count == 0)
        return record_error(cudaErrorNoDevice);
    return code;
}

static cudaError_t check_device(int device)
{
    int count = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code == cudaSuccess && (device < 0 || device >= count))
        return record_error(cudaErrorInvalidDevice);
    return code;
}

cudaError_t cudaSetDevice(int device)
{
    cudaError_t code = check_device(device);
    if (code != cudaSuccess)
        return code;
    current_device = device;
    device_was_chosen = true;
    return record_error(use_device());
}

cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    (void)flags;
    cudaError_t code = check_device(device);
    return code == cudaSuccess ? STARTED(cuDevicePrimaryCtxSetFlags_v2(device, device_flags)) : code;
}

cudaError_t cudaGetDevice(int *device)
{
    CUcontext context = NULL;
    cudaError_t code = start_driver();
    if (code != cudaSuccess)
        return record_error(code);
    *device = current_device;
    cuCtxGetCurrent(&context);
    if (!context || device_was_chosen)
        return cudaSuccess;
    return record_error((cudaError_t)cuCtxGetDevice(device));
}

cudaError_t cudaSetValidDevices(int *devices, int count)
{
    cudaError_t code = cudaSuccess;
    for (int index = 0; index < count && code == cudaSuccess; index++)
        code = check_device(devices[index]);
    return code;
}

/* The device that fits best: with one device, that one. */
cudaError_t cudaChooseDevice(int *device, const cudaDeviceProp *properties)
{
    (void)properties;
    *device = 0;
    return check_device(0);
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    return STARTED(cuDevicePrimaryCtxSetFlags_v2(current_device, flags & ~8u)); /* mapping of host memory is always on */
}

cudaError_t cudaGetDeviceFlags(unsigned *flags)
{
    int active;
    cudaError_t code = STARTED(cuDevicePrimaryCtxGetState(current_device, flags, &active));
    *flags |= 8;
    return code;
}

cudaError_t cudaDeviceReset(void)
{
    cudaError_t code = use_device();
    if (code != cudaSuccess)
        return record_error(code);
    unload_programs();
    return record_error((cudaError_t)cuDevicePrimaryCtxReset_v2(current_device));
}

cudaError_t cudaDeviceSynchronize(void)
{
    return ON_DEVICE(cuCtxSynchronize());
}

cudaError_t cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    cudaError_t code = check_device(device);
    return code == cudaSuccess ? STARTED(cuDeviceGetAttribute(value, attribute, device)) : code;
}

/* The attribute of the driver behind each member of cudaDeviceProp. A member of 8 bytes is a size_t. */
static const struct {
    int attribute;
    size_t offset, bytes;
} properties[] = {
#define PROPERTY(attribute, member) {attribute, offsetof(cudaDeviceProp, member), sizeof((cudaDeviceProp *)0)->member}
    PROPERTY(1, maxThreadsPerBlock),
    PROPERTY(2, maxThreadsDim[0]),
    PROPERTY(3, maxThreadsDim[1]),
    PROPERTY(4, maxThreadsDim[2]),
    PROPERTY(5, maxGridSize[0]),
    PROPERTY(6, maxGridSize[1]),
    PROPERTY(7, maxGridSize[2]),
    PROPERTY(8, sharedMemPerBlock),
    PROPERTY(9, totalConstMem),
    PROPERTY(10, warpSize),
    PROPERTY(11, memPitch),
    PROPERTY(12, regsPerBlock),
    PROPERTY(14, textureAlignment),
    PROPERTY(16, multiProcessorCount),
    PROPERTY(18, integrated),
    PROPERTY(19, canMapHostMemory),
    PROPERTY(21, maxTexture1D),
    PROPERTY(22, maxTexture2D[0]),
    PROPERTY(23, maxTexture2D[1]),
    PROPERTY(24, maxTexture3D[0]),
    PROPERTY(25, maxTexture3D[1]),
    PROPERTY(26, maxTexture3D[2]),
    PROPERTY(27, maxTexture2DLayered[0]),
    PROPERTY(28, maxTexture2DLayered[1]),
    PROPERTY(29, maxTexture2DLayered[2]),
    PROPERTY(30, surfaceAlignment),
    PROPERTY(31, concurrentKernels),
    PROPERTY(32, ECCEnabled),
    PROPERTY(33, pciBusID),
    PROPERTY(34, pciDeviceID),
    PROPERTY(35, tccDriver),
    PROPERTY(37, memoryBusWidth),
    PROPERTY(38, l2CacheSize),
    PROPERTY(39, maxThreadsPerMultiProcessor),
    PROPERTY(40, asyncEngineCount),
    PROPERTY(41, unifiedAddressing),
    PROPERTY(42, maxTexture1DLayered[0]),
    PROPERTY(43, maxTexture1DLayered[1]),
    PROPERTY(45, maxTexture2DGather[0]),
    PROPERTY(46, maxTexture2DGather[1]),
    PROPERTY(47, maxTexture3DAlt[0]),
    PROPERTY(48, maxTexture3DAlt[1]),
    PROPERTY(49, maxTexture3DAlt[2]),
    PROPERTY(50, pciDomainID),
    PROPERTY(51, texturePitchAlignment),
    PROPERTY(52, maxTextureCubemap),
    PROPERTY(53, maxTextureCubemapLayered[0]),
    PROPERTY(54, maxTextureCubemapLayered[1]),
    PROPERTY(55, maxSurface1D),
    PROPERTY(56, maxSurface2D[0]),
    PROPERTY(57, maxSurface2D[1]),
    PROPERTY(58, maxSurface3D[0]),
    PROPERTY(59, maxSurface3D[1]),
    PROPERTY(60, maxSurface3D[2]),
    PROPERTY(61, maxSurface1DLayered[0]),
    PROPERTY(62, maxSurface1DLayered[1]),
    PROPERTY(63, maxSurface2DLayered[0]),
    PROPERTY(64, maxSurface2DLayered[1]),
    PROPERTY(65, maxSurface2DLayered[2]),
    PROPERTY(66, maxSurfaceCubemap),
    PROPERTY(67, maxSurfaceCubemapLayered[0]),
    PROPERTY(68, maxSurfaceCubemapLayered[1]),
    PROPERTY(70, maxTexture2DLinear[0]),
    PROPERTY(71, maxTexture2DLinear[1]),
    PROPERTY(72, maxTexture2DLinear[2]),
    PROPERTY(73, maxTexture2DMipmap[0]),
    PROPERTY(74, maxTexture2DMipmap[1]),
    PROPERTY(75, major),
    PROPERTY(76, minor),
    PROPERTY(77, maxTexture1DMipmap),
    PROPERTY(78, streamPrioritiesSupported),
    PROPERTY(79, globalL1CacheSupported),
    PROPERTY(80, localL1CacheSupported),
    PROPERTY(81, sharedMemPerMultiprocessor),
    PROPERTY(82, regsPerMultiprocessor),
    PROPERTY(83, managedMemory),
    PROPERTY(84, isMultiGpuBoard),
    PROPERTY(85, multiGpuBoardGroupID),
    PROPERTY(86, hostNativeAtomicSupported),
    PROPERTY(88, pageableMemoryAccess),
    PROPERTY(89, concurrentManagedAccess),
    PROPERTY(90, computePreemptionSupported),
    PROPERTY(91, canUseHostPointerForRegisteredMem),
    PROPERTY(95, cooperativeLaunch),
    PROPERTY(97, sharedMemPerBlockOptin),
    PROPERTY(99, hostRegisterSupported),
    PROPERTY(100, pageableMemoryAccessUsesHostPageTables),
    PROPERTY(101, directManagedMemAccessFromHost),
    PROPERTY(106, maxBlocksPerMultiProcessor),
    PROPERTY(108, persistingL2CacheMaxSize),
    PROPERTY(109, accessPolicyMaxWindowSize),
    PROPERTY(111, reservedSharedMemPerBlock),
    PROPERTY(112, sparseCudaArraySupported),
    PROPERTY(113, hostRegisterReadOnlySupported),
    PROPERTY(114, timelineSemaphoreInteropSupported),
    PROPERTY(115, memoryPoolsSupported),
    PROPERTY(116, gpuDirectRDMASupported),
    PROPERTY(117, gpuDirectRDMAFlushWritesOptions),
    PROPERTY(118, gpuDirectRDMAWritesOrdering),
    PROPERTY(119, memoryPoolSupportedHandleTypes),
    PROPERTY(120, clusterLaunch),
    PROPERTY(121, deferredMappingCudaArraySupported),
    PROPERTY(125, ipcEventSupported),
    PROPERTY(129, unifiedFunctionPointers),
    PROPERTY(130, deviceNumaConfig),
    PROPERTY(131, deviceNumaId),
    PROPERTY(133, mpsEnabled),
    PROPERTY(134, hostNumaId),
    PROPERTY(139, gpuPciDeviceID),
    PROPERTY(140, gpuPciSubsystemID),
    PROPERTY(143, hostNumaMultinodeIpcSupported),
#undef PROPERTY
};

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *result, int device)
{
    cudaError_t code = check_device(device);
    if (code != cudaSuccess)
        return code;
    memset(result, 0, sizeof *result);
    cuDeviceGetName(result->name, sizeof result->name, device);
    cuDeviceGetUuid_v2(&result->uuid, device);
    cuDeviceTotalMem_v2(&result->totalGlobalMem, device);
    for (size_t row = 0; row < sizeof properties / sizeof *properties; row++) {
        int value = 0;
        cuDeviceGetAttribute(&value, properties[row].attribute, device);
        char *member = (char *)result + properties[row].offset;
        if (properties[row].bytes == sizeof(size_t))
            *(size_t *)member = (size_t)value;
        else
            *(int *)member = value;
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device)
{
    return STARTED(cuDeviceGetPCIBusId(id, length, device));
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *id)
{
    return STARTED(cuDeviceGetByPCIBusId(device, id));
}

cudaError_t cudaDeviceCanAccessPeer(int *possible, int device, int peer)
{
    cudaError_t code = check_device(device) == cudaSuccess ? check_device(peer) : cudaErrorInvalidDevice;
    return code == cudaSuccess ? STARTED(cuDeviceCanAccessPeer(possible, device, peer)) : code;
}

/* There is one device, and a device is not a peer of itself. */
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void)peer, (void)flags;
    return record_error(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    cudaError_t code = check_device(peer);
    return code == cudaSuccess ? record_error(cudaErrorPeerAccessNotEnabled) : code;
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, int attribute, int source, int destination)
{
    return STARTED(cuDeviceGetP2PAttribute(value, attribute, source, destination));
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *width, const cudaChannelFormatDesc *channels, int device)
{
    int format;
    unsigned count;
    cudaError_t code = array_format(channels, &format, &count);
    if (code != cudaSuccess)
        return record_error(code);
    return STARTED(cuDeviceGetTexture1DLinearMaxWidth(width, format, count, device));
}

cudaError_t cudaDeviceSetLimit(int limit, size_t value)
{
    return ON_DEVICE(cuCtxSetLimit(limit, value));
}

cudaError_t cudaDeviceGetLimit(size_t *value, int limit)
{
    return ON_DEVICE(cuCtxGetLimit(value, limit));
}

cudaError_t cudaDeviceSetCacheConfig(int config)
{
    return ON_DEVICE(cuCtxSetCacheConfig(config));
}

cudaError_t cudaDeviceGetCacheConfig(int *config)
{
    return ON_DEVICE(cuCtxGetCacheConfig(config));
}

cudaError_t cudaDeviceSetSharedMemConfig(int config)
{
    return ON_DEVICE(cuCtxSetSharedMemConfig(config));
}

cudaError_t cudaDeviceGetSharedMemConfig(int *config)
{
    return ON_DEVICE(cuCtxGetSharedMemConfig(config));
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    return ON_DEVICE(cuCtxGetStreamPriorityRange(least, greatest));
}

cudaError_t cudaCtxResetPersistingL2Cache(void)
{
    return ON_DEVICE(cuCtxResetPersistingL2Cache());
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    return STARTED(cuDeviceGetDefaultMemPool(pool, device));
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
    return STARTED(cuDeviceGetMemPool(pool, device));
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    return STARTED(cuDeviceSetMemPool(device, pool));
}

/* The version of the driver can be asked without a device. */
cudaError_t cudaDriverGetVersion(int *version)
{
    return record_error((cudaError_t)cuDriverGetVersion(version));
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = RUNTIME_VERSION;
    return cudaSuccess;
}

cudaError_t cudaProfilerStart(void)
{
    return ON_DEVICE(cuProfilerStart());
}

cudaError_t cudaProfilerStop(void)
{
    return ON_DEVICE(cuProfilerStop());
}
