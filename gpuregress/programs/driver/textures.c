/* Arrays, texture and surface objects, tensor maps. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

/* --- arrays ---------------------------------------------------------------------------------------------------------- */

typedef struct { size_t width, height; unsigned format, channels; } ArrayDescription;
typedef struct { size_t width, height, depth; unsigned format, channels, flags; } ArrayDescription3D;

enum { LAYERED = 1, SURFACE_LOAD_STORE = 2, CUBE_MAP = 4, GATHER_TEXELS = 8 };

static unsigned channel_bytes(unsigned format) {
    switch (format) {
    case 1: case 8: return 1;
    case 2: case 9: case 0x10: return 2;
    case 3: case 0x0a: case 0x20: return 4;
    default: return 0;
    }
}

static Result create_array(Array **array, const ArrayDescription3D *given) {
    MUST_BE_READY();
    CHECK(array && given && given->width, INVALID_VALUE);
    unsigned bytes = channel_bytes(given->format) * given->channels;
    if (!channel_bytes(given->format)) return missing("arrays of compressed, normalized or video formats");
    CHECK(given->channels == 1 || given->channels == 2 || given->channels == 4, INVALID_VALUE);
    if (given->flags & ~(unsigned)(LAYERED | SURFACE_LOAD_STORE | CUBE_MAP | GATHER_TEXELS)) return missing("flags of sparse, deferred and depth arrays");
    Array *made = calloc(1, sizeof *made);
    CHECK(made, OUT_OF_MEMORY);
    *made = (Array){ARRAY, given->format, given->channels, given->flags, bytes, given->width, given->height, given->depth, 0};
    size_t rows = given->height ? given->height : 1, planes = given->depth ? given->depth : 1;
    Result result = allocate(&made->address, given->width * bytes * rows * planes, DEVICE_MEMORY, "cuArrayCreate");
    if (result) free(made);
    else *array = made;
    return result;
}

EXPORTED Result cuArray3DCreate_v2(Array **array, const ArrayDescription3D *given) { return create_array(array, given); }
EXPORTED Result cuArrayCreate_v2(Array **array, const ArrayDescription *given) {
    CHECK(given, INVALID_VALUE);
    ArrayDescription3D description = {given->width, given->height, 0, given->format, given->channels, 0};
    return create_array(array, &description);
}

EXPORTED Result cuArrayGetDescriptor_v2(ArrayDescription *description, Array *array) {
    MUST_BE_READY();
    CHECK(IS(array, ARRAY), INVALID_HANDLE);
    *description = (ArrayDescription){array->width, array->height, array->format, array->channels};
    return SUCCESS;
}

EXPORTED Result cuArray3DGetDescriptor_v2(ArrayDescription3D *description, Array *array) {
    MUST_BE_READY();
    CHECK(IS(array, ARRAY), INVALID_HANDLE);
    *description = (ArrayDescription3D){array->width, array->height, array->depth, array->format, array->channels, array->flags};
    return SUCCESS;
}

EXPORTED Result cuArrayDestroy(Array *array) {
    MUST_BE_READY();
    CHECK(IS(array, ARRAY), INVALID_HANDLE);
    Region *region = find_start(array->address);
    array->kind = 0;
    return region ? release(region) : SUCCESS;
}

/* --- texture and surface objects ------------------------------------------------------------------------------------- */

enum { OF_ARRAY, OF_MIPMAP, OF_LINEAR, OF_PITCH };
enum { READ_AS_INTEGER = 1, NORMALIZED_COORDINATES = 2, SRGB = 0x10 };

typedef struct {
    int type;
    union {
        Array *array;
        struct { Address address; unsigned format, channels; size_t size; } linear;
        struct { Address address; unsigned format, channels; size_t width, height, pitch; } pitched;
        int reserved[32];
    } resource;
    unsigned flags;
} Resource;

typedef struct {
    int address_modes[3], filter;
    unsigned flags, anisotropy;
    int mipmap_filter;
    float bias, least, most, border[4];
    int reserved[12];
} Sampler;

typedef struct {
    uint64_t address;
    uint32_t format, channels, width, height, depth, flags;
    uint32_t modes[3], is_linear_filter, is_normalized, is_integer, is_surface, is_linear_memory;
} TextureRequest;

/* What the questions about an object are answered from. */
typedef struct Object {
    uint64_t handle;
    Resource resource;
    Sampler sampler;
    struct Object *next;
} Object;

static Object *objects;

static Result create_object(uint64_t *handle, const Resource *resource, const Sampler *sampler) {
    TextureRequest request = {0};
    Answer answer;
    MUST_BE_READY();
    CHECK(handle && resource, INVALID_VALUE);
    if (resource->type == OF_ARRAY) {
        Array *array = resource->resource.array;
        CHECK(IS(array, ARRAY), INVALID_HANDLE);
        request.address = array->address, request.format = array->format, request.channels = array->channels;
        request.width = (uint32_t)array->width, request.height = (uint32_t)array->height, request.depth = (uint32_t)array->depth;
        request.flags = array->flags;
    } else if (resource->type == OF_LINEAR) {
        unsigned bytes = channel_bytes(resource->resource.linear.format) * resource->resource.linear.channels;
        CHECK(bytes && sampler, INVALID_VALUE);
        request.address = resource->resource.linear.address, request.format = resource->resource.linear.format;
        request.channels = resource->resource.linear.channels, request.width = (uint32_t)(resource->resource.linear.size / bytes);
        request.is_linear_memory = 1;
    } else if (resource->type == OF_PITCH) {
        size_t bytes = channel_bytes(resource->resource.pitched.format) * resource->resource.pitched.channels;
        CHECK(bytes && sampler, INVALID_VALUE);
        if (resource->resource.pitched.pitch != resource->resource.pitched.width * bytes)
            return missing("textures on pitched memory whose rows have bytes to spare");
        request.address = resource->resource.pitched.address, request.format = resource->resource.pitched.format;
        request.channels = resource->resource.pitched.channels;
        request.width = (uint32_t)resource->resource.pitched.width, request.height = (uint32_t)resource->resource.pitched.height;
    } else {
        return missing("textures on mipmapped arrays");
    }
    if (sampler) {
        if (sampler->flags & SRGB) return missing("textures that convert sRGB");
        for (int axis = 0; axis < 3; axis++) request.modes[axis] = (uint32_t)sampler->address_modes[axis];
        request.is_linear_filter = sampler->filter == 1;
        request.is_normalized = (sampler->flags & NORMALIZED_COORDINATES) != 0;
        request.is_integer = (sampler->flags & READ_AS_INTEGER) != 0;
    }
    request.is_surface = !sampler;
    Result result = ASK(TEXTURE, &answer, VALUE(request));
    if (result) return result;
    Object *object = calloc(1, sizeof *object);
    memcpy(handle, answer.data, sizeof *handle);
    object->handle = *handle, object->resource = *resource;
    if (sampler) object->sampler = *sampler;
    lock();
    object->next = objects;
    objects = object;
    unlock();
    return SUCCESS;
}

static Object *find_object(uint64_t handle) {
    Object *object = objects;
    while (object && object->handle != handle) object = object->next;
    return object;
}

EXPORTED Result cuTexObjectCreate(uint64_t *handle, const Resource *resource, const Sampler *sampler, const void *view) {
    CHECK(sampler, INVALID_VALUE);
    if (view) return missing("views of texture resources");
    return create_object(handle, resource, sampler);
}

EXPORTED Result cuSurfObjectCreate(uint64_t *handle, const Resource *resource) {
    CHECK(resource && resource->type == OF_ARRAY, INVALID_VALUE);
    return create_object(handle, resource, NULL);
}

static Result destroy_object(uint64_t handle) {
    MUST_BE_READY();
    for (Object **link = &objects; *link; link = &(*link)->next)
        if ((*link)->handle == handle) {
            *link = (*link)->next;
            return SUCCESS;
        }
    return INVALID_VALUE;
}

EXPORTED Result cuTexObjectDestroy(uint64_t handle) { return destroy_object(handle); }
EXPORTED Result cuSurfObjectDestroy(uint64_t handle) { return destroy_object(handle); }

static Result get_resource(Resource *resource, uint64_t handle) {
    Object *object = find_object(handle);
    MUST_BE_READY();
    CHECK(resource && object, INVALID_VALUE);
    *resource = object->resource;
    return SUCCESS;
}

EXPORTED Result cuTexObjectGetResourceDesc(Resource *resource, uint64_t handle) { return get_resource(resource, handle); }
EXPORTED Result cuSurfObjectGetResourceDesc(Resource *resource, uint64_t handle) { return get_resource(resource, handle); }
EXPORTED Result cuTexObjectGetTextureDesc(Sampler *sampler, uint64_t handle) {
    Object *object = find_object(handle);
    MUST_BE_READY();
    CHECK(sampler && object, INVALID_VALUE);
    *sampler = object->sampler;
    return SUCCESS;
}

/* --- tensor maps ----------------------------------------------------------------------------------------------------- */

typedef struct {
    uint64_t address;
    uint32_t type, rank, interleave, swizzle, promotion, fill, is_im2col, channels, pixels;
    int32_t lower[5], upper[5];
    uint32_t box[5], element_strides[5];
    uint64_t extents[5], strides[5];
} MapRequest;

static Result encode(void *map, MapRequest *request, const uint64_t *extents, const uint64_t *strides, const uint32_t *element_strides) {
    Answer answer;
    CHECK(!ready(), ready());
    CHECK(map && (uintptr_t)map % 64 == 0 && request->rank >= 1 && request->rank <= 5 && extents && element_strides, INVALID_VALUE);
    CHECK(strides || request->rank == 1, INVALID_VALUE);
    memcpy(request->extents, extents, request->rank * sizeof *extents);
    if (request->rank > 1) memcpy(request->strides, strides, (request->rank - 1) * sizeof *strides);
    memcpy(request->element_strides, element_strides, request->rank * sizeof *element_strides);
    Result result = ASK(TENSOR_MAP, &answer, {request, sizeof *request});
    if (!result) memcpy(map, answer.data, 128);
    return result;
}

EXPORTED Result cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address, const uint64_t *extents, const uint64_t *strides,
                                       const uint32_t *box, const uint32_t *element_strides, int interleave, int swizzle, int promotion, int fill) {
    MapRequest request = {.address = (Address)address, .type = (uint32_t)type, .rank = rank, .interleave = (uint32_t)interleave,
                          .swizzle = (uint32_t)swizzle, .promotion = (uint32_t)promotion, .fill = (uint32_t)fill};
    CHECK(box && rank >= 1 && rank <= 5, INVALID_VALUE);
    memcpy(request.box, box, rank * sizeof *box);
    return encode(map, &request, extents, strides, element_strides);
}

EXPORTED Result cuTensorMapEncodeIm2col(void *map, int type, uint32_t rank, void *address, const uint64_t *extents, const uint64_t *strides,
                                        const int *lower, const int *upper, uint32_t channels, uint32_t pixels, const uint32_t *element_strides,
                                        int interleave, int swizzle, int promotion, int fill) {
    MapRequest request = {.address = (Address)address, .type = (uint32_t)type, .rank = rank, .interleave = (uint32_t)interleave,
                          .swizzle = (uint32_t)swizzle, .promotion = (uint32_t)promotion, .fill = (uint32_t)fill,
                          .is_im2col = 1, .channels = channels, .pixels = pixels};
    CHECK(lower && upper && rank >= 3 && rank <= 5, INVALID_VALUE);
    memcpy(request.lower, lower, (rank - 2) * sizeof *lower);
    memcpy(request.upper, upper, (rank - 2) * sizeof *upper);
    return encode(map, &request, extents, strides, element_strides);
}

EXPORTED Result cuTensorMapReplaceAddress(void *map, void *address) {
    (void)map, (void)address;
    return missing("cuTensorMapReplaceAddress");
}
