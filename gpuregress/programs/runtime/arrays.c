/* CUDA arrays, texture objects, surface objects. */
#include <string.h>

#include "runtime.h"

enum { FIRST_NORMALIZED_KIND = 5, LAST_NORMALIZED_KIND = 16, FIRST_NORMALIZED_FORMAT = 0xc0 };

/* Formats of elements, as the runtime and the driver say them. */
static const struct {
    cudaChannelFormatKind kind;
    int bits, format;
} formats[] = {
    {CHANNEL_UNSIGNED, 8, 0x01}, {CHANNEL_UNSIGNED, 16, 0x02}, {CHANNEL_UNSIGNED, 32, 0x03}, {CHANNEL_SIGNED, 8, 0x08},
    {CHANNEL_SIGNED, 16, 0x09},  {CHANNEL_SIGNED, 32, 0x0a},   {CHANNEL_FLOAT, 16, 0x10},    {CHANNEL_FLOAT, 32, 0x20},
};

static unsigned count_channels(const cudaChannelFormatDesc *channels)
{
    return (unsigned)((channels->x != 0) + (channels->y != 0) + (channels->z != 0) + (channels->w != 0));
}

cudaError_t array_format(const cudaChannelFormatDesc *channels, int *format, unsigned *count)
{
    *count = count_channels(channels);
    if ((int)channels->f >= FIRST_NORMALIZED_KIND && (int)channels->f <= LAST_NORMALIZED_KIND) {
        *format = FIRST_NORMALIZED_FORMAT + (int)channels->f - FIRST_NORMALIZED_KIND;
        return cudaSuccess;
    }
    for (size_t row = 0; row < sizeof formats / sizeof *formats; row++)
        if (formats[row].kind == channels->f && formats[row].bits == channels->x) {
            *format = formats[row].format;
            return *count == 3 ? cudaErrorInvalidChannelDescriptor : cudaSuccess;
        }
    return cudaErrorInvalidChannelDescriptor;
}

static cudaChannelFormatDesc channels_of(const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
    cudaChannelFormatDesc channels = {.f = CHANNEL_NONE};
    int bits = 0;
    for (size_t row = 0; row < sizeof formats / sizeof *formats; row++)
        if (formats[row].format == descriptor->Format) {
            channels.f = formats[row].kind;
            bits = formats[row].bits;
        }
    if (descriptor->Format >= FIRST_NORMALIZED_FORMAT) {
        int place = descriptor->Format - FIRST_NORMALIZED_FORMAT;
        channels.f = (cudaChannelFormatKind)(FIRST_NORMALIZED_KIND + place);
        bits = place % 6 < 3 ? 8 : 16;
    }
    channels.x = bits;
    channels.y = descriptor->NumChannels > 1 ? bits : 0;
    channels.z = descriptor->NumChannels > 2 ? bits : 0;
    channels.w = descriptor->NumChannels > 2 ? bits : 0;
    return channels;
}

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind)
{
    return (cudaChannelFormatDesc){x, y, z, w, kind};
}

static cudaError_t describe_array(const cudaChannelFormatDesc *channels, cudaExtent extent, unsigned flags,
                                  CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
    *descriptor = (CUDA_ARRAY3D_DESCRIPTOR){
        .Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags};
    return array_format(channels, &descriptor->Format, &descriptor->NumChannels);
}

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const cudaChannelFormatDesc *channels, cudaExtent extent,
                              unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    cudaError_t code = describe_array(channels, extent, flags, &descriptor);
    return code == cudaSuccess ? ON_DEVICE(cuArray3DCreate_v2(array, &descriptor)) : record_error(code);
}

cudaError_t cudaMallocArray(cudaArray_t *array, const cudaChannelFormatDesc *channels, size_t width, size_t height,
                            unsigned flags)
{
    return cudaMalloc3DArray(array, channels, (cudaExtent){width, height, 0}, flags);
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
    return array ? ON_DEVICE(cuArrayDestroy(array)) : record_error(use_device());
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *array, const cudaChannelFormatDesc *channels,
                                     cudaExtent extent, unsigned levels, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    cudaError_t code = describe_array(channels, extent, flags, &descriptor);
    return code == cudaSuccess ? ON_DEVICE(cuMipmappedArrayCreate(array, &descriptor, levels)) : record_error(code);
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *array, cudaMipmappedArray_t mipmapped, unsigned level)
{
    return ON_DEVICE(cuMipmappedArrayGetLevel(array, mipmapped, level));
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array)
{
    return array ? ON_DEVICE(cuMipmappedArrayDestroy(array)) : record_error(use_device());
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc *channels, cudaExtent *extent, unsigned *flags, cudaArray_t array)
{
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    cudaError_t code = ON_DEVICE(cuArray3DGetDescriptor_v2(&descriptor, array));
    if (code != cudaSuccess)
        return code;
    if (channels)
        *channels = channels_of(&descriptor);
    if (extent)
        *extent = (cudaExtent){descriptor.Width, descriptor.Height, descriptor.Depth};
    if (flags)
        *flags = descriptor.Flags;
    return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc *channels, cudaArray_const_t array)
{
    return cudaArrayGetInfo(channels, NULL, NULL, (cudaArray_t)array);
}

cudaError_t array_element_bytes(cudaArray_const_t array, size_t *bytes)
{
    cudaChannelFormatDesc channels;
    cudaError_t code = cudaGetChannelDesc(&channels, array);
    *bytes = (size_t)(channels.x + channels.y + channels.z + channels.w) / 8;
    return code;
}

static cudaError_t convert_resource(const cudaResourceDesc *resource, CUDA_RESOURCE_DESC *converted)
{
    *converted = (CUDA_RESOURCE_DESC){.resType = (int)resource->resType, .flags = resource->flags};
    switch (resource->resType) {
    case RESOURCE_ARRAY:
    case RESOURCE_MIPMAPPED_ARRAY:
        converted->res.array = resource->res.array;
        return cudaSuccess;
    case RESOURCE_LINEAR:
        converted->res.linear.devPtr = (CUdeviceptr)resource->res.linear.devPtr;
        converted->res.linear.sizeInBytes = resource->res.linear.sizeInBytes;
        return array_format(&resource->res.linear.desc, &converted->res.linear.format,
                            &converted->res.linear.numChannels);
    case RESOURCE_PITCH2D:
        converted->res.pitch2D.devPtr = (CUdeviceptr)resource->res.pitch2D.devPtr;
        converted->res.pitch2D.width = resource->res.pitch2D.width;
        converted->res.pitch2D.height = resource->res.pitch2D.height;
        converted->res.pitch2D.pitchInBytes = resource->res.pitch2D.pitchInBytes;
        return array_format(&resource->res.pitch2D.desc, &converted->res.pitch2D.format,
                            &converted->res.pitch2D.numChannels);
    }
    return cudaErrorInvalidValue;
}

/* Channels of what a texture reads. */
static cudaError_t resource_channels(const cudaResourceDesc *resource, cudaChannelFormatDesc *channels)
{
    cudaArray_t array = resource->res.array;
    if (resource->resType == RESOURCE_LINEAR)
        *channels = resource->res.linear.desc;
    else if (resource->resType == RESOURCE_PITCH2D)
        *channels = resource->res.pitch2D.desc;
    else if (resource->resType == RESOURCE_MIPMAPPED_ARRAY) {
        cudaError_t code = cudaGetMipmappedArrayLevel(&array, resource->res.array, 0);
        return code == cudaSuccess ? cudaGetChannelDesc(channels, array) : code;
    } else
        return cudaGetChannelDesc(channels, array);
    return cudaSuccess;
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *texture, const cudaResourceDesc *resource,
                                    const cudaTextureDesc *description, const cudaResourceViewDesc *view)
{
    enum { LINEAR_FILTER = 1, NORMALIZED_FLOAT = 1 };
    CUDA_RESOURCE_DESC converted;
    cudaChannelFormatDesc channels;
    cudaError_t code = convert_resource(resource, &converted);
    if (code == cudaSuccess)
        code = resource_channels(resource, &channels);
    if (code != cudaSuccess)
        return record_error(code);
    bool is_integer = channels.f == CHANNEL_SIGNED || channels.f == CHANNEL_UNSIGNED;
    bool reads_integers = is_integer && description->readMode != NORMALIZED_FLOAT;
    if (is_integer && !reads_integers && channels.x == 32)
        return record_error(cudaErrorInvalidNormSetting);
    if (reads_integers && description->filterMode == LINEAR_FILTER)
        return record_error(cudaErrorInvalidFilterSetting);
    CUDA_TEXTURE_DESC settings = {
        .filterMode = description->filterMode,
        .maxAnisotropy = description->maxAnisotropy,
        .mipmapFilterMode = description->mipmapFilterMode,
        .mipmapLevelBias = description->mipmapLevelBias,
        .minMipmapLevelClamp = description->minMipmapLevelClamp,
        .maxMipmapLevelClamp = description->maxMipmapLevelClamp,
    };
    memcpy(settings.addressMode, description->addressMode, sizeof settings.addressMode);
    memcpy(settings.borderColor, description->borderColor, sizeof settings.borderColor);
    if (reads_integers)
        settings.flags |= TEXTURE_READ_AS_INTEGER;
    if (description->normalizedCoords)
        settings.flags |= TEXTURE_NORMALIZED_COORDINATES;
    if (description->sRGB)
        settings.flags |= TEXTURE_SRGB;
    if (description->disableTrilinearOptimization)
        settings.flags |= TEXTURE_NO_TRILINEAR_OPTIMIZATION;
    if (description->seamlessCubemap)
        settings.flags |= TEXTURE_SEAMLESS_CUBEMAP;
    return ON_DEVICE(cuTexObjectCreate(texture, &converted, &settings, view));
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture)
{
    return ON_DEVICE(cuTexObjectDestroy(texture));
}

cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc *view, cudaTextureObject_t texture)
{
    return ON_DEVICE(cuTexObjectGetResourceViewDesc(view, texture));
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *surface, const cudaResourceDesc *resource)
{
    CUDA_RESOURCE_DESC converted;
    if (resource->resType != RESOURCE_ARRAY)
        return record_error(cudaErrorInvalidValue);
    cudaError_t code = convert_resource(resource, &converted);
    return code == cudaSuccess ? ON_DEVICE(cuSurfObjectCreate(surface, &converted)) : record_error(code);
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface)
{
    return ON_DEVICE(cuSurfObjectDestroy(surface));
}
