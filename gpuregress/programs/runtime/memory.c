/* Memory: allocation, pinned and managed memory, pools, pointers. */
#include "runtime.h"

cudaError_t cudaMalloc(void **address, size_t bytes)
{
    if (!address)
        return record_error(cudaErrorInvalidValue);
    *address = NULL;
    if (bytes == 0) /* the driver rejects it */
        return record_error(use_device());
    return ON_DEVICE(cuMemAlloc_v2((CUdeviceptr *)address, bytes));
}

cudaError_t cudaFree(void *address)
{
    return address ? ON_DEVICE(cuMemFree_v2((CUdeviceptr)address)) : record_error(use_device());
}

cudaError_t cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height)
{
    *address = NULL;
    *pitch = 0;
    if (width == 0 || height == 0)
        return record_error(use_device());
    return ON_DEVICE(cuMemAllocPitch_v2((CUdeviceptr *)address, pitch, width, height, 4));
}

cudaError_t cudaMalloc3D(cudaPitchedPtr *pitched, cudaExtent extent)
{
    pitched->xsize = extent.width;
    pitched->ysize = extent.height;
    return cudaMallocPitch(&pitched->ptr, &pitched->pitch, extent.width, extent.height * extent.depth);
}

cudaError_t cudaMallocManaged(void **address, size_t bytes, unsigned flags)
{
    return ON_DEVICE(cuMemAllocManaged((CUdeviceptr *)address, bytes, flags));
}

cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    *pointer = NULL;
    return bytes ? ON_DEVICE(cuMemHostAlloc(pointer, bytes, flags)) : record_error(use_device());
}

cudaError_t cudaMallocHost(void **pointer, size_t bytes)
{
    return cudaHostAlloc(pointer, bytes, 0);
}

cudaError_t cudaFreeHost(void *pointer)
{
    return pointer ? ON_DEVICE(cuMemFreeHost(pointer)) : record_error(use_device());
}

cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned flags)
{
    return ON_DEVICE(cuMemHostRegister_v2(pointer, bytes, flags));
}

cudaError_t cudaHostUnregister(void *pointer)
{
    return ON_DEVICE(cuMemHostUnregister(pointer));
}

cudaError_t cudaHostGetDevicePointer(void **address, void *pointer, unsigned flags)
{
    return ON_DEVICE(cuMemHostGetDevicePointer_v2((CUdeviceptr *)address, pointer, flags));
}

cudaError_t cudaHostGetFlags(unsigned *flags, void *pointer)
{
    return ON_DEVICE(cuMemHostGetFlags(flags, pointer));
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    return ON_DEVICE(cuMemGetInfo_v2(free_bytes, total));
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *pointer)
{
    enum { MEMORY_TYPE = 2, DEVICE_POINTER, HOST_POINTER, IS_MANAGED = 8, DEVICE_ORDINAL };
    enum { NO_DEVICE = -2 };
    int wanted[] = {MEMORY_TYPE, DEVICE_POINTER, HOST_POINTER, IS_MANAGED, DEVICE_ORDINAL};
    int type = 0, device = NO_DEVICE;
    CUdeviceptr device_pointer = 0;
    void *host_pointer = NULL;
    unsigned is_managed = 0;
    void *values[] = {&type, &device_pointer, &host_pointer, &is_managed, &device};
    cudaError_t code = ON_DEVICE(cuPointerGetAttributes(5, wanted, values, (CUdeviceptr)pointer));
    if (code != cudaSuccess)
        return code;
    *attributes = (cudaPointerAttributes){
        .type = is_managed ? MEMORY_MANAGED : (cudaMemoryType)type,
        .device = device,
        .devicePointer = (void *)device_pointer,
        .hostPointer = host_pointer,
    };
    if (type == MEMORY_UNREGISTERED) {
        attributes->device = NO_DEVICE;
        attributes->hostPointer = (void *)pointer;
    }
    return cudaSuccess;
}

cudaError_t cudaMemAdvise(const void *address, size_t bytes, int advice, cudaMemLocation location)
{
    return ON_DEVICE(cuMemAdvise_v2((CUdeviceptr)address, bytes, advice, location));
}

cudaError_t cudaMemRangeGetAttribute(void *data, size_t size, int attribute, const void *address, size_t bytes)
{
    return ON_DEVICE(cuMemRangeGetAttribute(data, size, attribute, (CUdeviceptr)address, bytes));
}

cudaError_t cudaMemRangeGetAttributes(void **data, size_t *sizes, int *attributes, size_t count, const void *address,
                                      size_t bytes)
{
    return ON_DEVICE(cuMemRangeGetAttributes(data, sizes, attributes, count, (CUdeviceptr)address, bytes));
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const void *properties)
{
    return ON_DEVICE(cuMemPoolCreate(pool, properties));
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    return ON_DEVICE(cuMemPoolDestroy(pool));
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes)
{
    return ON_DEVICE(cuMemPoolTrimTo(pool, bytes));
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, int attribute, void *value)
{
    return ON_DEVICE(cuMemPoolSetAttribute(pool, attribute, value));
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, int attribute, void *value)
{
    return ON_DEVICE(cuMemPoolGetAttribute(pool, attribute, value));
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const void *descriptors, size_t count)
{
    return ON_DEVICE(cuMemPoolSetAccess(pool, descriptors, count));
}

cudaError_t cudaMemPoolGetAccess(int *flags, cudaMemPool_t pool, cudaMemLocation *location)
{
    return ON_DEVICE(cuMemPoolGetAccess(flags, pool, location));
}
