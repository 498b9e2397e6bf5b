/* Copies and fills. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

enum { HOST_SIDE = 1, DEVICE_SIDE, ARRAY_SIDE, UNIFIED_SIDE };

/* --- steps ---------------------------------------------------------------------------------------------------------- */

/* A stretch that is copied or filled. */
typedef struct {
    Address to, from; /* of the device or of the program */
    size_t size;
    void *staged;     /* its bytes, where the call itself reads them */
    unsigned value, unit; /* of a fill; of a copy 0 */
} Step;

typedef struct {
    const char *call;
    Step *steps;
    Touched *touched;
    size_t step_count, touched_count;
} Copy;

static _Thread_local Stream *running; /* the stream of the copy that is being called */
static _Thread_local bool is_waited_for;
static Copy current;
static size_t step_room, touched_room;

static bool perform(const Step *step) {
    char *to = any_bytes(step->to, step->size);
    const char *from = step->staged;
    if (!from && !step->unit) from = any_bytes(step->from, step->size);
    if (!to || (!from && !step->unit)) return false;
    if (!step->unit) memmove(to, from, step->size);
    if (step->unit == 1) memset(to, (int)step->value, step->size);
    for (size_t offset = 0; step->unit > 1 && offset < step->size; offset += step->unit)
        memcpy(to + offset, &step->value, step->unit);
    note_written(step->to, step->size);
    return true;
}

static void note_touched(Address address, size_t size, bool is_write) {
    if (!reachable(address)) return;
    if (current.touched_count == touched_room) {
        touched_room = touched_room ? 2 * touched_room : 64;
        current.touched = realloc(current.touched, touched_room * sizeof *current.touched);
    }
    current.touched[current.touched_count++] = (Touched){reachable(address), size, is_write};
}

/* Pageable memory is read and written before the call returns, pinned memory when the stream comes to the copy. */
static void keep_step(Step step) {
    if (!step.unit && !reachable(step.from)) {
        step.staged = malloc(step.size);
        if (step.staged) memcpy(step.staged, (void *)step.from, step.size);
        else is_waited_for = true;
    }
    if (current.step_count == step_room) {
        step_room = step_room ? 2 * step_room : 64;
        current.steps = realloc(current.steps, step_room * sizeof *current.steps);
    }
    current.steps[current.step_count++] = step;
}

static void do_step(Step step) {
    if (running && !step.unit) note_touched(step.from, step.size, false);
    if (running) note_touched(step.to, step.size, true);
    if (running && !reachable(step.to)) is_waited_for = true;
    if (running && keeps_work_back()) keep_step(step);
    else perform(&step);
}

static Result run_copy(void *task, const Order *order) {
    Copy *copy = task;
    Result result = SUCCESS;
    for (size_t index = 0; index < copy->step_count; index++) {
        if (!result && !perform(&copy->steps[index])) {
            report_freed(copy->call);
            result = ILLEGAL_ADDRESS;
        }
        free(copy->steps[index].staged);
    }
    tell_order(order, copy->call, copy->touched, copy->touched_count);
    if (keeps_work_back()) free(copy->steps), free(copy->touched);
    return result;
}

void begin_copy(Stream *stream) {
    if (!is_order_followed(stream)) return;
    lock();
    running = stream;
    is_waited_for = false;
    current.step_count = current.touched_count = 0;
}

Result end_copy(const char *call, Result result) {
    if (!running) return result;
    Stream *stream = running;
    running = NULL;
    current.call = call;
    if (!result && (current.step_count || current.touched_count)) {
        result = submit(stream, run_copy, &current, sizeof current, is_waited_for);
        if (keeps_work_back()) current = (Copy){0}, step_room = touched_room = 0;
        if (is_waited_for) order_program_after_stream(stream);
        if (!result) result = ready();
    }
    unlock();
    return result;
}

/* The host's side of a copy: pageable, pinned or managed memory; NULL for device memory. */
static char *host_bytes(const void *memory, size_t size) {
    return is_host_address((Address)memory) ? any_bytes((Address)memory, size) : NULL;
}

static Result to_device(Address target, const void *source, size_t size) {
    MUST_BE_READY();
    if (size == 0) return SUCCESS;
    CHECK(device_bytes(target, size) && source && host_bytes(source, size), INVALID_VALUE);
    do_step((Step){.to = target, .from = (Address)source, .size = size});
    return SUCCESS;
}

static Result from_device(void *target, Address source, size_t size) {
    MUST_BE_READY();
    if (size == 0) return SUCCESS;
    CHECK(device_bytes(source, size) && target && host_bytes(target, size), INVALID_VALUE);
    do_step((Step){.to = (Address)target, .from = source, .size = size});
    return SUCCESS;
}

static Result copy(Address target, Address source, size_t size) {
    MUST_BE_READY();
    if (size == 0) return SUCCESS;
    CHECK(any_bytes(target, size) && any_bytes(source, size), INVALID_VALUE);
    do_step((Step){.to = target, .from = source, .size = size});
    return SUCCESS;
}

#define ON_STREAM(stream, call)                                                                                       \
    ({                                                                                                                \
        Stream *real_ = real_stream(stream);                                                                          \
        Result result_ = real_ ? check_captures(real_, SAFE) : INVALID_HANDLE;                                        \
        if (!result_) {                                                                                               \
            begin_copy(real_);                                                                                        \
            result_ = end_copy(__func__, call);                                                                       \
        }                                                                                                             \
        result_;                                                                                                      \
    })
/* A call that returns when the copy is done, also on a GPU. */
#define AT_ONCE(call)                                                                                                 \
    ({                                                                                                                \
        Result at_once_ = check_captures(real_stream(NULL), UNSAFE);                                                  \
        if (!at_once_) at_once_ = ON_STREAM(NULL, call);                                                              \
        order_program_after_stream(real_stream(NULL));                                                                \
        at_once_ ? at_once_ : ready();                                                                                \
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
    return IS(to, CONTEXT) && IS(from, CONTEXT) ? ON_STREAM(NULL, copy(target, source, size)) : INVALID_CONTEXT;
}
EXPORTED Result cuMemcpyPeerAsync(Address target, Context *to, Address source, Context *from, size_t size, void *stream) {
    return IS(to, CONTEXT) && IS(from, CONTEXT) ? LINE(stream, copy, target, source, size) : INVALID_CONTEXT;
}

/* --- fills ---------------------------------------------------------------------------------------------------------- */

static Result fill(Address target, size_t pitch, unsigned value, size_t unit, size_t width, size_t height) {
    MUST_BE_READY();
    if (width == 0 || height == 0) return SUCCESS;
    CHECK(target % unit == 0 && (height == 1 || pitch >= width * unit) && (height == 1 || pitch % unit == 0), INVALID_VALUE);
    size_t size;
    CHECK(!__builtin_mul_overflow(height - 1, pitch, &size) && !__builtin_mul_overflow(width, unit, &width), INVALID_VALUE);
    CHECK(!__builtin_add_overflow(size, width, &size) && device_bytes(target, size), INVALID_VALUE);
    for (size_t row = 0; row < height; row++)
        do_step((Step){.to = target + row * pitch, .size = width, .value = value, .unit = (unsigned)unit});
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
    return end_copy("a fill of a graph",
                    fill(given->target, given->pitch, given->value, given->unit, given->width, given->height));
}

#define FILL(stream, ...)                                                                                             \
    ON_STREAM_OR_GRAPH(stream, record_call(real_stream(stream), FILL_NODE, fill_deferred, &(Fill){__VA_ARGS__}, sizeof(Fill)), \
                       fill(__VA_ARGS__))

/* Memory that the program sees itself is filled when the call returns ("API synchronization behavior" of CUDA's manual). */
#define FILL_AT_ONCE(target, ...)                                                                                     \
    (find_visible(target) ? AT_ONCE(fill(target, __VA_ARGS__)) : ON_STREAM(NULL, fill(target, __VA_ARGS__)))

EXPORTED Result cuMemsetD8_v2(Address target, unsigned char value, size_t count) { return FILL_AT_ONCE(target, 0, value, 1, count, 1); }
EXPORTED Result cuMemsetD16_v2(Address target, unsigned short value, size_t count) { return FILL_AT_ONCE(target, 0, value, 2, count, 1); }
EXPORTED Result cuMemsetD32_v2(Address target, unsigned value, size_t count) { return FILL_AT_ONCE(target, 0, value, 4, count, 1); }
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
    return FILL_AT_ONCE(target, pitch, value, 1, width, height);
}
EXPORTED Result cuMemsetD2D16_v2(Address target, size_t pitch, unsigned short value, size_t width, size_t height) {
    return FILL_AT_ONCE(target, pitch, value, 2, width, height);
}
EXPORTED Result cuMemsetD2D32_v2(Address target, size_t pitch, unsigned value, size_t width, size_t height) {
    return FILL_AT_ONCE(target, pitch, value, 4, width, height);
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

/* One side of a copy: its first byte, and the distances between rows and between planes. */
typedef struct {
    Address address;
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
        side->address = (Address)place->host;
    }
    CHECK(place->type == ARRAY_SIDE || extent[1] * extent[2] == 1 || pitch >= extent[0], INVALID_VALUE);
    size_t start, size;
    CHECK(offset_of(place->x, place->y, place->z, height, pitch, &start), INVALID_VALUE);
    CHECK(offset_of(extent[0], extent[1] - 1, extent[2] - 1, height, pitch, &size), INVALID_VALUE);
    side->pitch = pitch;
    side->plane = height * pitch;
    side->address += start;
    const char *bytes;
    if (place->type == HOST_SIDE) bytes = host_bytes((void *)side->address, size);
    else bytes = place->type == UNIFIED_SIDE ? any_bytes(side->address, size) : device_bytes(side->address, size);
    return bytes ? SUCCESS : INVALID_VALUE;
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
        for (size_t row = 0; row < height; row++)
            do_step((Step){.to = target.address + plane * target.plane + row * target.pitch,
                           .from = source.address + plane * source.plane + row * source.pitch, .size = width});
    return SUCCESS;
}

typedef struct {
    Place from, to;
    size_t width, height, depth;
} Box;

static Result copy_deferred(void *data, Stream *stream) {
    const Box *box = data;
    begin_copy(stream);
    return end_copy("a copy of a graph", copy_box(&box->from, &box->to, box->width, box->height, box->depth));
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
EXPORTED Result cuMemcpy3DAsync_v2(const void *given, void *stream) {
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
    return ON_STREAM(NULL, copy_box(&source, &target, size, 1, 1));
}

/* --- values of memory that streams write ----------------------------------------------------------------------------- */

static Result write_value(Address address, uint64_t value, size_t size) {
    CHECK(address % size == 0, INVALID_VALUE);
    return to_device(address, &value, size);
}

EXPORTED Result cuStreamWriteValue32_v2(void *stream, Address address, uint32_t value, unsigned flags) { (void)flags; return ON_STREAM_OR_GRAPH(stream, missing("cuStreamWriteValue while a stream is captured"), write_value(address, value, 4)); }
EXPORTED Result cuStreamWriteValue64_v2(void *stream, Address address, uint64_t value, unsigned flags) { (void)flags; return ON_STREAM_OR_GRAPH(stream, missing("cuStreamWriteValue while a stream is captured"), write_value(address, value, 8)); }
