/* Copies and fills. All are done when the call returns. */
#include "driver.h"

#include <string.h>

enum { HOST_SIDE = 1, DEVICE_SIDE, ARRAY_SIDE, UNIFIED_SIDE };

/* --- stretches ------------------------------------------------------------------------------------------------------ */

/* Pageable memory is read or written before the call returns, pinned memory when the stream comes to the copy. */
static void note_host(const void *memory, size_t size, bool is_write) {
    if (find_region((Address)memory)) note_touched((Address)memory, size, is_write);
}

/* The host's side of a copy: pageable, pinned or managed memory; NULL for device memory. */
static char *host_bytes(const void *memory, size_t size) {
    return is_host_address((Address)memory) ? any_bytes((Address)memory, size) : NULL;
}

static Result to_device(Address target, const void *source, size_t size) {
    MUST_BE_READY();
    if (size == 0) return SUCCESS;
    char *bytes = device_bytes(target, size);
    CHECK(bytes && source && host_bytes(source, size), INVALID_VALUE);
    memmove(bytes, source, size);
    note_host(source, size, false);
    note_written(target, size);
    note_touched(target, size, true);
    return SUCCESS;
}

static Result from_device(void *target, Address source, size_t size) {
    MUST_BE_READY();
    if (size == 0) return SUCCESS;
    char *bytes = device_bytes(source, size);
    CHECK(bytes && target && host_bytes(target, size), INVALID_VALUE);
    memmove(target, bytes, size);
    note_host(target, size, true);
    note_touched(source, size, false);
    return SUCCESS;
}

static Result copy(Address target, Address source, size_t size) {
    MUST_BE_READY();
    if (size == 0) return SUCCESS;
    char *to = any_bytes(target, size), *from = any_bytes(source, size);
    CHECK(to && from, INVALID_VALUE);
    memmove(to, from, size);
    note_touched(source, size, false);
    note_written(target, size);
    note_touched(target, size, true);
    return SUCCESS;
}

#define ON_STREAM(stream, call)                                                                                       \
    ({                                                                                                                \
        Stream *real_ = real_stream(stream);                                                                          \
        Result result_ = real_ ? check_captures(real_, SAFE) : INVALID_HANDLE;                                       \
        if (!result_) {                                                                                               \
            begin_copy(real_);                                                                                        \
            result_ = (call);                                                                                         \
            end_copy(__func__);                                                                                       \
        }                                                                                                             \
        result_;                                                                                                      \
    })
/* A call that returns when the copy is done, also on a GPU. */
#define AT_ONCE(call)                                                                                                 \
    ({                                                                                                                \
        Result at_once_ = check_captures(real_stream(NULL), UNSAFE);                                                  \
        if (!at_once_) at_once_ = ON_STREAM(NULL, call);                                                              \
        if (!at_once_) order_program_after_stream(real_stream(NULL));                                                 \
        at_once_;                                                                                                     \
    })

/* On a stream that is captured, a copy or a fill is recorded for the graph. */
#define ON_STREAM_OR_GRAPH(stream, recorded, call)                                                                    \
    (is_capturing(real_stream(stream)) ? (recorded) : ON_STREAM(stream, call))
#define LINE(stream, function, target, source, size)                                                                  \
    ON_STREAM_OR_GRAPH(stream, record_line(real_stream(stream), (Address)(target), (Address)(source), size),          \
                       function(target, source, size))

static Result record_line(Stream *stream, Address target, Address source, size_t size);

EXPORTED Result cuMemcpyHtoD_v2(Address target, const void *source, size_t size) { return AT_ONCE(to_device(target, source, size)); }
EXPORTED Result cuMemcpyDtoH_v2(void *target, Address source, size_t size) { return AT_ONCE(from_device(target, source, size)); }
EXPORTED Result cuMemcpyDtoD_v2(Address target, Address source, size_t size) { return ON_STREAM(NULL, copy(target, source, size)); }
EXPORTED Result cuMemcpy(Address target, Address source, size_t size) { return AT_ONCE(copy(target, source, size)); }
EXPORTED Result cuMemcpyHtoDAsync_v2(Address target, const void *source, size_t size, void *stream) {
    return LINE(stream, to_device, target, source, size);
}
EXPORTED Result cuMemcpyDtoHAsync_v2(void *target, Address source, size_t size, void *stream) {
    return LINE(stream, from_device, target, source, size);
}
EXPORTED Result cuMemcpyDtoDAsync_v2(Address target, Address source, size_t size, void *stream) {
    return LINE(stream, copy, target, source, size);
}
EXPORTED Result cuMemcpyAsync(Address target, Address source, size_t size, void *stream) {
    return LINE(stream, copy, target, source, size);
}
EXPORTED Result cuMemcpyPeer(Address target, Context *to, Address source, Context *from, size_t size) {
    return IS(to, CONTEXT) && IS(from, CONTEXT) ? copy(target, source, size) : INVALID_CONTEXT;
}
EXPORTED Result cuMemcpyPeerAsync(Address target, Context *to, Address source, Context *from, size_t size, void *stream) {
    return ON_STREAM_OR_GRAPH(stream, record_line(real_stream(stream), target, source, size),
                              cuMemcpyPeer(target, to, source, from, size));
}

/* --- fills ---------------------------------------------------------------------------------------------------------- */

static Result fill(Address target, size_t pitch, unsigned value, size_t unit, size_t width, size_t height) {
    MUST_BE_READY();
    if (width == 0 || height == 0) return SUCCESS;
    CHECK(target % unit == 0 && (height == 1 || pitch >= width * unit) && (height == 1 || pitch % unit == 0), INVALID_VALUE);
    size_t size;
    CHECK(!__builtin_mul_overflow(height - 1, pitch, &size) && !__builtin_mul_overflow(width, unit, &width), INVALID_VALUE);
    CHECK(!__builtin_add_overflow(size, width, &size) && device_bytes(target, size), INVALID_VALUE);
    for (size_t row = 0; row < height; row++) {
        char *bytes = device_bytes(target + row * pitch, width);
        if (unit == 1) memset(bytes, (int)value, width);
        for (size_t index = 0; unit > 1 && index < width / unit; index++) memcpy(bytes + index * unit, &value, unit);
        note_written(target + row * pitch, width);
        note_touched(target + row * pitch, width, true);
    }
    return SUCCESS;
}

typedef struct {
    Address target;
    size_t pitch;
    unsigned value;
    size_t unit, width, height;
} Fill;

static Result fill_deferred(void *data, Stream *stream) {
    const Fill *given = data;
    begin_copy(stream);
    Result result = fill(given->target, given->pitch, given->value, given->unit, given->width, given->height);
    end_copy("a fill of a graph");
    return result;
}

#define FILL(stream, ...)                                                                                             \
    ON_STREAM_OR_GRAPH(stream, record_call(real_stream(stream), FILL_NODE, fill_deferred, &(Fill){__VA_ARGS__}, sizeof(Fill)), \
                       fill(__VA_ARGS__))

EXPORTED Result cuMemsetD8_v2(Address target, unsigned char value, size_t count) { return ON_STREAM(NULL, fill(target, 0, value, 1, count, 1)); }
EXPORTED Result cuMemsetD16_v2(Address target, unsigned short value, size_t count) { return ON_STREAM(NULL, fill(target, 0, value, 2, count, 1)); }
EXPORTED Result cuMemsetD32_v2(Address target, unsigned value, size_t count) { return ON_STREAM(NULL, fill(target, 0, value, 4, count, 1)); }
EXPORTED Result cuMemsetD8Async(Address target, unsigned char value, size_t count, void *stream) {
    return FILL(stream, target, 0, value, 1, count, 1);
}
EXPORTED Result cuMemsetD16Async(Address target, unsigned short value, size_t count, void *stream) {
    return FILL(stream, target, 0, value, 2, count, 1);
}
EXPORTED Result cuMemsetD32Async(Address target, unsigned value, size_t count, void *stream) {
    return FILL(stream, target, 0, value, 4, count, 1);
}
EXPORTED Result cuMemsetD2D8_v2(Address target, size_t pitch, unsigned char value, size_t width, size_t height) {
    return ON_STREAM(NULL, fill(target, pitch, value, 1, width, height));
}
EXPORTED Result cuMemsetD2D16_v2(Address target, size_t pitch, unsigned short value, size_t width, size_t height) {
    return ON_STREAM(NULL, fill(target, pitch, value, 2, width, height));
}
EXPORTED Result cuMemsetD2D32_v2(Address target, size_t pitch, unsigned value, size_t width, size_t height) {
    return ON_STREAM(NULL, fill(target, pitch, value, 4, width, height));
}
EXPORTED Result cuMemsetD2D8Async(Address target, size_t pitch, unsigned char value, size_t width, size_t height, void *stream) {
    return FILL(stream, target, pitch, value, 1, width, height);
}
EXPORTED Result cuMemsetD2D16Async(Address target, size_t pitch, unsigned short value, size_t width, size_t height, void *stream) {
    return FILL(stream, target, pitch, value, 2, width, height);
}
EXPORTED Result cuMemsetD2D32Async(Address target, size_t pitch, unsigned value, size_t width, size_t height, void *stream) {
    return FILL(stream, target, pitch, value, 4, width, height);
}

/* --- rows and planes ------------------------------------------------------------------------------------------------ */

/* One side of a copy: where its first byte lies, and the distances between rows and between planes. */
typedef struct {
    char *bytes;
    Address address; /* 0: host memory */
    size_t pitch, plane;
} Side;

typedef struct {
    size_t x, y, z;
    unsigned type;
    const void *host;
    Address device;
    Array *array;
    size_t pitch, height;
} Place;

/* (z * height + y) * pitch + x; false where it is more than an address can be. */
static bool offset_of(size_t x, size_t y, size_t z, size_t height, size_t pitch, size_t *offset) {
    size_t rows;
    return !__builtin_mul_overflow(z, height, &rows) && !__builtin_add_overflow(rows, y, &rows) &&
           !__builtin_mul_overflow(rows, pitch, offset) && !__builtin_add_overflow(*offset, x, offset) &&
           *offset <= SIZE_MAX / 4;
}

static Result resolve(const Place *place, const size_t extent[3], Side *side) {
    size_t pitch = place->pitch ? place->pitch : extent[0], height = place->height ? place->height : extent[1];
    if (place->type == ARRAY_SIDE) {
        Array *array = place->array;
        CHECK(IS(array, ARRAY), INVALID_HANDLE);
        size_t row = array->width * array->element_bytes, rows = array->height ? array->height : 1;
        size_t planes = array->depth ? array->depth : 1;
        CHECK(extent[0] <= row && place->x <= row - extent[0], INVALID_VALUE);
        CHECK(extent[1] <= rows && place->y <= rows - extent[1], INVALID_VALUE);
        CHECK(extent[2] <= planes && place->z <= planes - extent[2], INVALID_VALUE);
        pitch = row, height = rows;
        side->address = array->address;
    } else if (place->type == DEVICE_SIDE || place->type == UNIFIED_SIDE) {
        side->address = place->device;
    } else {
        CHECK(place->type == HOST_SIDE && place->host, INVALID_VALUE);
        side->address = 0;
    }
    CHECK(place->type == ARRAY_SIDE || extent[1] * extent[2] == 1 || pitch >= extent[0], INVALID_VALUE);
    size_t start, size;
    CHECK(offset_of(place->x, place->y, place->z, height, pitch, &start), INVALID_VALUE);
    CHECK(offset_of(extent[0], extent[1] - 1, extent[2] - 1, height, pitch, &size), INVALID_VALUE);
    side->pitch = pitch;
    side->plane = height * pitch;
    if (side->address) {
        side->address += start;
        side->bytes = place->type == UNIFIED_SIDE ? any_bytes(side->address, size) : device_bytes(side->address, size);
    } else {
        side->bytes = host_bytes((const char *)place->host + start, size);
    }
    return side->bytes ? SUCCESS : INVALID_VALUE;
}

static Result copy_box(const Place *from, const Place *to, size_t width, size_t height, size_t depth) {
    Side source, target;
    size_t extent[3] = {width, height, depth};
    MUST_BE_READY();
    if (width == 0 || height == 0 || depth == 0) return SUCCESS;
    Result result = resolve(from, extent, &source);
    if (!result) result = resolve(to, extent, &target);
    if (result) return result;
    for (size_t plane = 0; plane < depth; plane++)
        for (size_t row = 0; row < height; row++) {
            size_t offset = plane * target.plane + row * target.pitch;
            memmove(target.bytes + offset, source.bytes + plane * source.plane + row * source.pitch, width);
            if (target.address) {
                note_written(target.address + offset, width);
                note_touched(target.address + offset, width, true);
            }
            if (source.address) note_touched(source.address + plane * source.plane + row * source.pitch, width, false);
        }
    return SUCCESS;
}

typedef struct {
    Place from, to;
    size_t width, height, depth;
} Box;

static Result copy_deferred(void *data, Stream *stream) {
    const Box *box = data;
    begin_copy(stream);
    Result result = copy_box(&box->from, &box->to, box->width, box->height, box->depth);
    end_copy("a copy of a graph");
    return result;
}

/* Copy now, or with the graph into which a stream is captured. */
static Result copy_or_record(const Box *box, Stream *captured) {
    if (captured) return record_call(captured, COPY_NODE, copy_deferred, box, sizeof *box);
    return copy_box(&box->from, &box->to, box->width, box->height, box->depth);
}

static Result record_line(Stream *stream, Address target, Address source, size_t size) {
    Box box = {{.type = UNIFIED_SIDE, .device = source}, {.type = UNIFIED_SIDE, .device = target}, size, 1, 1};
    return copy_or_record(&box, stream);
}

typedef struct { size_t x, y; unsigned type; const void *host; Address device; Array *array; size_t pitch; } Side2D;
typedef struct { Side2D from, to; size_t width, height; } Copy2D;
typedef struct {
    size_t x, y, z, level; unsigned type; const void *host; Address device; Array *array; void *context; size_t pitch, height;
} Side3D;
typedef struct { Side3D from, to; size_t width, height, depth; } Copy3D;

static Place place_2d(const Side2D *side) {
    return (Place){side->x, side->y, 0, side->type, side->host, side->device, side->array, side->pitch, 0};
}

static Place place_3d(const Side3D *side) {
    return (Place){side->x, side->y, side->z, side->type, side->host, side->device, side->array, side->pitch, side->height};
}

static Result copy_2d(const Copy2D *given, Stream *captured) {
    CHECK(given, INVALID_VALUE);
    Box box = {place_2d(&given->from), place_2d(&given->to), given->width, given->height, 1};
    return copy_or_record(&box, captured);
}

static Result copy_3d(const Copy3D *given, Stream *captured) {
    CHECK(given, INVALID_VALUE);
    if (given->from.level || given->to.level) return missing("levels of mipmapped arrays");
    Box box = {place_3d(&given->from), place_3d(&given->to), given->width, given->height, given->depth};
    return copy_or_record(&box, captured);
}

EXPORTED Result cuMemcpy2D_v2(const Copy2D *given) { return AT_ONCE(copy_2d(given, NULL)); }
EXPORTED Result cuMemcpy2DUnaligned_v2(const Copy2D *given) { return AT_ONCE(copy_2d(given, NULL)); }
EXPORTED Result cuMemcpy2DAsync_v2(const Copy2D *given, void *stream) {
    return ON_STREAM_OR_GRAPH(stream, copy_2d(given, real_stream(stream)), copy_2d(given, NULL));
}
EXPORTED Result cuMemcpy3D_v2(const Copy3D *given) { return AT_ONCE(copy_3d(given, NULL)); }
EXPORTED Result cuMemcpy3DAsync_v2(const Copy3D *given, void *stream) {
    return ON_STREAM_OR_GRAPH(stream, copy_3d(given, real_stream(stream)), copy_3d(given, NULL));
}
EXPORTED Result cuMemcpy3DPeer(const Copy3D *given) { return AT_ONCE(copy_3d(given, NULL)); }
EXPORTED Result cuMemcpy3DPeerAsync(const Copy3D *given, void *stream) {
    return ON_STREAM_OR_GRAPH(stream, copy_3d(given, real_stream(stream)), copy_3d(given, NULL));
}

static Result copy_array(Array *array, size_t offset, Address device, const void *host, size_t size, bool to_array) {
    CHECK(IS(array, ARRAY), INVALID_HANDLE);
    Place inside = {.x = offset, .type = ARRAY_SIDE, .array = array};
    Place outside = {.type = host ? HOST_SIDE : DEVICE_SIDE, .host = host, .device = device};
    return to_array ? copy_box(&outside, &inside, size, 1, 1) : copy_box(&inside, &outside, size, 1, 1);
}

EXPORTED Result cuMemcpyHtoA_v2(Array *array, size_t offset, const void *host, size_t size) { return AT_ONCE(copy_array(array, offset, 0, host, size, true)); }
EXPORTED Result cuMemcpyAtoH_v2(void *host, Array *array, size_t offset, size_t size) { return AT_ONCE(copy_array(array, offset, 0, host, size, false)); }
EXPORTED Result cuMemcpyDtoA_v2(Array *array, size_t offset, Address device, size_t size) { return AT_ONCE(copy_array(array, offset, device, NULL, size, true)); }
EXPORTED Result cuMemcpyAtoD_v2(Address device, Array *array, size_t offset, size_t size) { return AT_ONCE(copy_array(array, offset, device, NULL, size, false)); }
EXPORTED Result cuMemcpyHtoAAsync_v2(Array *array, size_t offset, const void *host, size_t size, void *stream) {
    return ON_STREAM(stream, copy_array(array, offset, 0, host, size, true));
}
EXPORTED Result cuMemcpyAtoHAsync_v2(void *host, Array *array, size_t offset, size_t size, void *stream) {
    return ON_STREAM(stream, copy_array(array, offset, 0, host, size, false));
}

EXPORTED Result cuMemcpyAtoA_v2(Array *to, size_t to_offset, Array *from, size_t from_offset, size_t size) {
    CHECK(IS(to, ARRAY) && IS(from, ARRAY), INVALID_HANDLE);
    Place source = {.x = from_offset, .type = ARRAY_SIDE, .array = from}, target = {.x = to_offset, .type = ARRAY_SIDE, .array = to};
    return copy_box(&source, &target, size, 1, 1);
}
