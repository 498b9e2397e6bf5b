/* Functions that work in a stream, for each of the two default streams.
 *
 * A program that is compiled with --default-stream per-thread calls them under other names, `cudaMemcpy_ptds` and
 * `cudaMemcpyAsync_ptsz`. There, stream 0 is the thread's own and not the legacy stream, which waits for the others.
 */
#include <string.h>

#include "runtime.h"

/* Copy within linear memory. A kind that contradicts an address is left to the driver, which knows its memory. */
static cudaError_t copy(void *destination, const void *source, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    if ((unsigned)kind > BY_ADDRESS)
        return cudaErrorInvalidMemcpyDirection;
    if (bytes == 0)
        return cudaSuccess;
    switch (kind) {
    case HOST_TO_DEVICE:
        return (cudaError_t)cuMemcpyHtoDAsync_v2((CUdeviceptr)destination, source, bytes, stream);
    case DEVICE_TO_HOST:
        return (cudaError_t)cuMemcpyDtoHAsync_v2(destination, (CUdeviceptr)source, bytes, stream);
    case DEVICE_TO_DEVICE:
        return (cudaError_t)cuMemcpyDtoDAsync_v2((CUdeviceptr)destination, (CUdeviceptr)source, bytes, stream);
    default:
        return (cudaError_t)cuMemcpyAsync((CUdeviceptr)destination, (CUdeviceptr)source, bytes, stream);
    }
}

static bool is_host(cudaMemcpyKind kind, cudaMemcpyKind with_host)
{
    return kind == HOST_TO_HOST || kind == with_host;
}

/* Where an array takes part, widths count its elements; positions in linear memory count bytes. */
cudaError_t convert_box(const cudaMemcpy3DParms *box, CUDA_MEMCPY3D *result)
{
    if ((unsigned)box->kind > BY_ADDRESS)
        return cudaErrorInvalidMemcpyDirection;
    if (!box->srcArray == !box->srcPtr.ptr || !box->dstArray == !box->dstPtr.ptr)
        return cudaErrorInvalidValue;
    cudaError_t code = cudaSuccess;
    size_t source_element = 1, destination_element = 1;
    if (box->srcArray)
        code = array_element_bytes(box->srcArray, &source_element);
    if (code == cudaSuccess && box->dstArray)
        code = array_element_bytes(box->dstArray, &destination_element);
    if (code != cudaSuccess)
        return code;
    size_t element = box->srcArray ? source_element : destination_element;
    CUDA_MEMCPY3D converted = {
        .srcXInBytes = box->srcPos.x * source_element,
        .srcY = box->srcPos.y,
        .srcZ = box->srcPos.z,
        .dstXInBytes = box->dstPos.x * destination_element,
        .dstY = box->dstPos.y,
        .dstZ = box->dstPos.z,
        .WidthInBytes = box->extent.width * element,
        .Height = box->extent.height,
        .Depth = box->extent.depth,
    };
    if (box->srcArray) {
        converted.srcMemoryType = DRIVER_MEMORY_ARRAY;
        converted.srcArray = box->srcArray;
    } else {
        if (converted.WidthInBytes > box->srcPtr.pitch)
            return cudaErrorInvalidPitchValue;
        converted.srcMemoryType = box->kind == BY_ADDRESS              ? DRIVER_MEMORY_UNIFIED
                                  : is_host(box->kind, HOST_TO_DEVICE) ? DRIVER_MEMORY_HOST
                                                                       : DRIVER_MEMORY_DEVICE;
        converted.srcHost = box->srcPtr.ptr;
        converted.srcDevice = (CUdeviceptr)box->srcPtr.ptr;
        converted.srcPitch = box->srcPtr.pitch;
        converted.srcHeight = box->srcPtr.ysize;
    }
    if (box->dstArray) {
        converted.dstMemoryType = DRIVER_MEMORY_ARRAY;
        converted.dstArray = box->dstArray;
    } else {
        if (converted.WidthInBytes > box->dstPtr.pitch)
            return cudaErrorInvalidPitchValue;
        converted.dstMemoryType = box->kind == BY_ADDRESS              ? DRIVER_MEMORY_UNIFIED
                                  : is_host(box->kind, DEVICE_TO_HOST) ? DRIVER_MEMORY_HOST
                                                                       : DRIVER_MEMORY_DEVICE;
        converted.dstHost = box->dstPtr.ptr;
        converted.dstDevice = (CUdeviceptr)box->dstPtr.ptr;
        converted.dstPitch = box->dstPtr.pitch;
        converted.dstHeight = box->dstPtr.ysize;
    }
    *result = converted;
    return cudaSuccess;
}

static cudaError_t copy_box(const cudaMemcpy3DParms *box, cudaStream_t stream)
{
    CUDA_MEMCPY3D converted;
    cudaError_t code = convert_box(box, &converted);
    if (code != cudaSuccess || box->extent.width == 0 || box->extent.height == 0 || box->extent.depth == 0)
        return code;
    return (cudaError_t)cuMemcpy3DAsync_v2(&converted, stream);
}

static cudaMemcpy3DParms peer_box(const cudaMemcpy3DPeerParms *box)
{
    return (cudaMemcpy3DParms){
        .srcArray = box->srcArray,
        .srcPos = box->srcPos,
        .srcPtr = box->srcPtr,
        .dstArray = box->dstArray,
        .dstPos = box->dstPos,
        .dstPtr = box->dstPtr,
        .extent = box->extent,
        .kind = DEVICE_TO_DEVICE,
    };
}

/* A row of bytes, or `height` of them, in linear memory. */
static cudaPitchedPtr rows(const void *pointer, size_t pitch, size_t height)
{
    return (cudaPitchedPtr){(void *)pointer, pitch, pitch, height};
}

/* Copy between linear memory and an array whose position is in bytes; either side may be an array. */
static cudaError_t copy_rows(cudaArray_t to_array, size_t to_x, size_t to_y, cudaPitchedPtr to, cudaArray_const_t from_array,
                             size_t from_x, size_t from_y, cudaPitchedPtr from, size_t width, size_t height,
                             cudaMemcpyKind kind, cudaStream_t stream)
{
    size_t to_element = 1, from_element = 1;
    cudaError_t code = cudaSuccess;
    if (to_array)
        code = array_element_bytes(to_array, &to_element);
    if (code == cudaSuccess && from_array)
        code = array_element_bytes(from_array, &from_element);
    size_t element = from_array ? from_element : to_element;
    if (code == cudaSuccess && (to_x % to_element || from_x % from_element || width % element))
        code = cudaErrorInvalidValue;
    if (code != cudaSuccess)
        return code;
    cudaMemcpy3DParms box = {
        .srcArray = (cudaArray_t)from_array,
        .srcPos = {from_x / from_element, from_y, 0},
        .srcPtr = from,
        .dstArray = to_array,
        .dstPos = {to_x / to_element, to_y, 0},
        .dstPtr = to,
        .extent = {width / element, height, 1},
        .kind = kind,
    };
    return copy_box(&box, stream);
}

/* Copy bytes to or from an array, from a place of it on, row by row. */
static cudaError_t copy_run(cudaArray_t array, size_t x, size_t y, char *memory, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream, bool to_array)
{
    cudaExtent extent;
    size_t element;
    cudaError_t code = cudaArrayGetInfo(NULL, &extent, NULL, array);
    if (code == cudaSuccess)
        code = array_element_bytes(array, &element);
    size_t row_bytes = code == cudaSuccess ? extent.width * element : 0;
    while (code == cudaSuccess && count > 0) {
        if (x >= row_bytes)
            return cudaErrorInvalidValue;
        size_t width = count < row_bytes - x ? count : row_bytes - x;
        size_t height = x == 0 && width == row_bytes ? count / row_bytes : 1;
        cudaPitchedPtr linear = rows(memory, width, height), none = rows(NULL, 0, 0);
        if (to_array)
            code = copy_rows(array, x, y, none, NULL, 0, 0, linear, width, height, kind, stream);
        else
            code = copy_rows(NULL, 0, 0, linear, array, x, y, none, width, height, kind, stream);
        memory += width * height;
        count -= width * height;
        y += height;
        x = 0;
    }
    return code;
}

/* Address of bytes of a variable; an error if they are not within it. */
static cudaError_t variable_address(const void *symbol, size_t offset, size_t count, char **address)
{
    CUdeviceptr start;
    size_t bytes;
    cudaError_t code = find_variable(symbol, &start, &bytes);
    if (code != cudaSuccess)
        return code;
    if (offset > bytes || count > bytes - offset)
        return cudaErrorInvalidValue;
    *address = (char *)start + offset;
    return cudaSuccess;
}

static cudaError_t copy_to_symbol(const void *symbol, const void *source, size_t count, size_t offset,
                                  cudaMemcpyKind kind, cudaStream_t stream)
{
    char *address;
    if (kind == HOST_TO_HOST || kind == DEVICE_TO_HOST)
        return cudaErrorInvalidMemcpyDirection;
    cudaError_t code = variable_address(symbol, offset, count, &address);
    return code == cudaSuccess ? copy(address, source, count, kind, stream) : code;
}

static cudaError_t copy_from_symbol(void *destination, const void *symbol, size_t count, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream)
{
    char *address;
    if (kind == HOST_TO_HOST || kind == HOST_TO_DEVICE)
        return cudaErrorInvalidMemcpyDirection;
    cudaError_t code = variable_address(symbol, offset, count, &address);
    return code == cudaSuccess ? copy(destination, address, count, kind, stream) : code;
}

static cudaError_t set_rows(void *address, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
    if (width == 0 || height == 0)
        return cudaSuccess;
    if (height > 1 && width > pitch)
        return cudaErrorInvalidPitchValue;
    return (cudaError_t)cuMemsetD2D8Async((CUdeviceptr)address, pitch, (unsigned char)value, width, height, stream);
}

static cudaError_t set_box(cudaPitchedPtr pitched, int value, cudaExtent extent, cudaStream_t stream)
{
    cudaError_t code = cudaSuccess;
    for (size_t plane = 0; plane < extent.depth && code == cudaSuccess; plane++)
        code = set_rows((char *)pitched.ptr + plane * pitched.pitch * pitched.ysize, pitched.pitch, value, extent.width,
                        extent.height, stream);
    return code;
}

static cudaError_t set_bytes(void *address, int value, size_t count, cudaStream_t stream)
{
    if (count == 0)
        return cudaSuccess;
    return (cudaError_t)cuMemsetD8Async((CUdeviceptr)address, (unsigned char)value, count, stream);
}

/* The end of a copy that is not asynchronous: it waits for its stream, except between two places on the device. */
static cudaError_t wait_for_copy(cudaError_t code, cudaMemcpyKind kind, cudaStream_t stream)
{
    return code == cudaSuccess && kind != DEVICE_TO_DEVICE ? (cudaError_t)cuStreamSynchronize(stream) : code;
}

/* The end of a fill that is not asynchronous: it waits where the program reads and writes the memory itself. */
static cudaError_t wait_for_fill(cudaError_t code, const void *address, cudaStream_t stream)
{
    int host_pointer = 4; /* CU_POINTER_ATTRIBUTE_HOST_POINTER */
    void *host = NULL, *values[] = {&host};
    if (code == cudaSuccess)
        code = (cudaError_t)cuPointerGetAttributes(1, &host_pointer, values, (CUdeviceptr)address);
    return code == cudaSuccess && host ? (cudaError_t)cuStreamSynchronize(stream) : code;
}

static cudaError_t launch_host(const void *host, const cudaLaunchConfig_t *config, void **arguments)
{
    CUfunction function;
    cudaError_t code = find_function(host, &function);
    return code == cudaSuccess ? launch(function, config, arguments) : code;
}

#define PTSZ(name) name
#define PTDS(name) name
#define STREAM(stream) (stream)
#include "stream_functions.h"
#undef PTSZ
#undef PTDS
#undef STREAM

#define PTSZ(name) name##_ptsz
#define PTDS(name) name##_ptds
#define STREAM(stream) ((stream) ? (stream) : (cudaStream_t)2)
#include "stream_functions.h"

/* Copies between devices; there is one, and these have no names of their own for the per-thread default stream. */

cudaError_t cudaMemcpyPeerAsync(void *destination, int to_device, const void *source, int from_device, size_t bytes,
                                cudaStream_t stream)
{
    if (to_device != 0 || from_device != 0)
        return record_error(cudaErrorInvalidDevice);
    return ON_DEVICE(copy(destination, source, bytes, DEVICE_TO_DEVICE, stream));
}

cudaError_t cudaMemcpyPeer(void *destination, int to_device, const void *source, int from_device, size_t bytes)
{
    return cudaMemcpyPeerAsync(destination, to_device, source, from_device, bytes, NULL);
}
