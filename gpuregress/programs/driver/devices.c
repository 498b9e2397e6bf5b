/* Initialisation, the device, contexts, streams, events, errors. */
#define _GNU_SOURCE
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- device ---------------------------------------------------------------------------------------------------------- */

bool is_device(Device device) { return device == 0; }

/* CUDA_VISIBLE_DEVICES names no device, or none that is here. */
static bool is_hidden(void) {
    const char *names = getenv("CUDA_VISIBLE_DEVICES");
    if (!names) return false;
    return atoi(names) != 0 || !(names[0] == '0' || strncmp(names, "GPU-", 4) == 0);
}

EXPORTED Result cuInit(unsigned flags) {
    if (is_hidden()) return NO_DEVICE;
    return flags ? INVALID_VALUE : start_server();
}

EXPORTED Result cuDriverGetVersion(int *version) {
    CHECK(version, INVALID_VALUE);
    *version = CUDA_VERSION;
    return SUCCESS;
}

/* A kernel's fault ends the use of memory and kernels, not questions about the device and the stack of contexts. */
#define IS_STARTED() CHECK(is_initialized(), NOT_INITIALIZED)

#define DEVICE_CALL(device, condition)                                                                                \
    do {                                                                                                              \
        IS_STARTED();                                                                                                 \
        CHECK(is_device(device), INVALID_DEVICE);                                                                     \
        CHECK(condition, INVALID_VALUE);                                                                              \
    } while (0)

EXPORTED Result cuDeviceGetCount(int *count) {
    DEVICE_CALL(0, count);
    *count = 1;
    return SUCCESS;
}

EXPORTED Result cuDeviceGet(Device *device, int ordinal) {
    DEVICE_CALL(ordinal, device);
    *device = 0;
    return SUCCESS;
}

EXPORTED Result cuDeviceGetName(char *name, int size, Device device) {
    DEVICE_CALL(device, name && size > 0);
    snprintf(name, (size_t)size, "%s", greeting.name);
    return SUCCESS;
}

EXPORTED Result cuDeviceGetUuid(uint8_t *uuid, Device device) {
    DEVICE_CALL(device, uuid);
    memcpy(uuid, greeting.uuid, sizeof greeting.uuid);
    return SUCCESS;
}

EXPORTED Result cuDeviceGetUuid_v2(uint8_t *uuid, Device device) { return cuDeviceGetUuid(uuid, device); }

EXPORTED Result cuDeviceTotalMem_v2(size_t *size, Device device) {
    DEVICE_CALL(device, size);
    *size = greeting.total_memory;
    return SUCCESS;
}

EXPORTED Result cuDeviceGetAttribute(int *value, int attribute, Device device) {
    DEVICE_CALL(device, value && attribute > 0 && attribute < (int)(sizeof greeting.attributes / sizeof(int32_t)));
    *value = greeting.attributes[attribute];
    return SUCCESS;
}

EXPORTED Result cuDeviceComputeCapability(int *major, int *minor, Device device) {
    DEVICE_CALL(device, major && minor);
    *major = greeting.attributes[75];
    *minor = greeting.attributes[76];
    return SUCCESS;
}

EXPORTED Result cuDeviceGetProperties(int *properties, Device device) {
    DEVICE_CALL(device, properties);
    static const int wanted[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    for (int index = 0; index < 14; index++) properties[index] = greeting.attributes[wanted[index]];
    return SUCCESS;
}

static const char bus_id[] = "0000:00:00.0";

EXPORTED Result cuDeviceGetPCIBusId(char *text, int size, Device device) {
    DEVICE_CALL(device, text && size > 0);
    snprintf(text, (size_t)size, "%s", bus_id);
    return SUCCESS;
}

EXPORTED Result cuDeviceGetByPCIBusId(Device *device, const char *text) {
    DEVICE_CALL(0, device && text && strstr(text, "00:00.0"));
    *device = 0;
    return SUCCESS;
}

EXPORTED Result cuDeviceCanAccessPeer(int *can, Device device, Device peer) {
    DEVICE_CALL(device, can && is_device(peer));
    *can = 0;
    return SUCCESS;
}

EXPORTED Result cuDeviceGetTexture1DLinearMaxWidth(size_t *width, int format, unsigned channels, Device device) {
    (void)format, (void)channels;
    DEVICE_CALL(device, width);
    *width = (size_t)greeting.attributes[69];
    return SUCCESS;
}

EXPORTED Result cuDeviceGetExecAffinitySupport(int *is_supported, int type, Device device) {
    (void)type;
    DEVICE_CALL(device, is_supported);
    *is_supported = 0;
    return SUCCESS;
}

/* --- contexts -------------------------------------------------------------------------------------------------------- */

static _Thread_local Context **stack;
static _Thread_local int depth, room;
static Context primary = {.kind = CONTEXT, .id = 1};
static uint64_t last_context = 1;
static int created_contexts; /* those that are not destroyed, without the primary one */
static const size_t usual_limits[16] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};

Context *primary_context(void) { return &primary; }
Context *current_context(void) { return depth ? stack[depth - 1] : NULL; }

Result ready_with_context(void) {
    Result result = ready();
    if (result) return result;
    Context *context = current_context();
    if (!context) return INVALID_CONTEXT;
    return context->kind == CONTEXT && (context != &primary || primary.uses) ? SUCCESS : 709;
}

static Result push(Context *context) {
    if (depth == room) {
        Context **grown = realloc(stack, (size_t)(2 * room + 16) * sizeof *stack);
        CHECK(grown, OUT_OF_MEMORY);
        stack = grown;
        room = 2 * room + 16;
    }
    stack[depth++] = context;
    return SUCCESS;
}

static void set_up(Context *context) {
    if (!context->limits[0]) memcpy(context->limits, usual_limits, sizeof usual_limits);
}

static Result create_context(Context **context, unsigned flags, Device device) {
    DEVICE_CALL(device, context);
    Context *made = calloc(1, sizeof *made);
    CHECK(made, OUT_OF_MEMORY);
    made->kind = CONTEXT;
    made->flags = flags;
    made->id = ++last_context;
    made->uses = 1;
    created_contexts++;
    set_up(made);
    *context = made;
    return push(made);
}

EXPORTED Result cuCtxCreate_v2(Context **context, unsigned flags, Device device) { return create_context(context, flags, device); }
EXPORTED Result cuCtxCreate_v3(Context **context, void *affinity, int count, unsigned flags, Device device) {
    (void)affinity, (void)count;
    return create_context(context, flags, device);
}
EXPORTED Result cuCtxCreate_v4(Context **context, void *parameters, unsigned flags, Device device) {
    (void)parameters;
    return create_context(context, flags, device);
}

/* What kernels have allocated lives as long as their context. The device has one heap for all contexts here, which is
 * emptied when the last one ends. */
static void end_use_of_heap(void) {
    uint64_t size = usual_limits[2];
    if (created_contexts == 0 && primary.uses == 0) ASK(LIMIT_HEAP, NULL, VALUE(size));
}

static void forget(Context *context) {
    release_modules_of(context);
    release_regions_of(context);
    created_contexts--;
    end_use_of_heap();
    while (depth && stack[depth - 1] == context) depth--;
}

EXPORTED Result cuCtxDestroy_v2(Context *context) {
    CHECK(!ready(), ready());
    CHECK(IS(context, CONTEXT) && context != &primary, INVALID_CONTEXT);
    forget(context);
    context->kind = 0; /* kept, so that later uses of the handle are recognised */
    return SUCCESS;
}

EXPORTED Result cuCtxPushCurrent_v2(Context *context) {
    IS_STARTED();
    CHECK(IS(context, CONTEXT), INVALID_CONTEXT);
    return push(context);
}

EXPORTED Result cuCtxPopCurrent_v2(Context **context) {
    IS_STARTED();
    CHECK(depth, INVALID_CONTEXT);
    depth--;
    if (context) *context = stack[depth];
    return SUCCESS;
}

EXPORTED Result cuCtxSetCurrent(Context *context) {
    IS_STARTED();
    CHECK(!context || IS(context, CONTEXT), INVALID_CONTEXT);
    if (depth) depth--;
    return context ? push(context) : SUCCESS;
}

EXPORTED Result cuCtxGetCurrent(Context **context) {
    IS_STARTED();
    CHECK(context, INVALID_VALUE);
    *context = current_context();
    return SUCCESS;
}

EXPORTED Result cuCtxGetDevice(Device *device) {
    IS_STARTED();
    CHECK(current_context(), INVALID_CONTEXT);
    CHECK(device, INVALID_VALUE);
    *device = 0;
    return SUCCESS;
}

EXPORTED Result cuCtxGetDevice_v2(Device *device, Context *context) {
    CHECK(!ready(), ready());
    CHECK(device, INVALID_VALUE);
    CHECK(context ? context->kind == CONTEXT : current_context() != NULL, INVALID_CONTEXT);
    *device = 0;
    return SUCCESS;
}

EXPORTED Result cuCtxGetFlags(unsigned *flags) {
    MUST_BE_READY();
    CHECK(flags, INVALID_VALUE);
    *flags = current_context()->flags;
    return SUCCESS;
}

EXPORTED Result cuCtxSetFlags(unsigned flags) {
    MUST_BE_READY();
    current_context()->flags = flags;
    return SUCCESS;
}

EXPORTED Result cuCtxGetId(Context *context, unsigned long long *id) {
    CHECK(!ready(), ready());
    if (!context) context = current_context();
    CHECK(IS(context, CONTEXT), 709);
    CHECK(id, INVALID_VALUE);
    *id = context->id;
    return SUCCESS;
}

EXPORTED Result cuCtxGetApiVersion(Context *context, unsigned *version) {
    CHECK(!ready(), ready());
    CHECK(!context || IS(context, CONTEXT), INVALID_CONTEXT);
    CHECK(version, INVALID_VALUE);
    *version = CUDA_VERSION;
    return SUCCESS;
}

EXPORTED Result cuCtxSynchronize(void) {
    Result result = check_captures(NULL, FORBIDDEN);
    if (result) return result;
    order_program_after_all();
    return ready_with_context();
}
EXPORTED Result cuCtxSynchronize_v2(Context *context) {
    order_program_after_all();
    CHECK(!ready(), ready());
    return !context ? ready_with_context() : context->kind == CONTEXT ? SUCCESS : INVALID_CONTEXT;
}

EXPORTED Result cuCtxGetLimit(size_t *value, int limit) {
    MUST_BE_READY();
    CHECK(value && limit >= 0, INVALID_VALUE);
    CHECK(limit < 7, UNSUPPORTED_LIMIT);
    *value = current_context()->limits[limit];
    return SUCCESS;
}

EXPORTED Result cuCtxSetLimit(int limit, size_t value) {
    uint64_t size = value;
    MUST_BE_READY();
    CHECK(limit >= 0, INVALID_VALUE);
    CHECK(limit < 7, UNSUPPORTED_LIMIT);
    Result result = limit == 2 ? ASK(LIMIT_HEAP, NULL, VALUE(size)) : SUCCESS;
    if (!result) current_context()->limits[limit] = value;
    return result;
}

static int cache_config, shared_config;

EXPORTED Result cuCtxGetCacheConfig(int *config) { MUST_BE_READY(); CHECK(config, INVALID_VALUE); *config = cache_config; return SUCCESS; }
EXPORTED Result cuCtxSetCacheConfig(int config) { MUST_BE_READY(); cache_config = config; return SUCCESS; }
EXPORTED Result cuCtxGetSharedMemConfig(int *config) { MUST_BE_READY(); CHECK(config, INVALID_VALUE); *config = shared_config; return SUCCESS; }
EXPORTED Result cuCtxSetSharedMemConfig(int config) { MUST_BE_READY(); shared_config = config; return SUCCESS; }
EXPORTED Result cuCtxResetPersistingL2Cache(void) { return ready_with_context(); }

EXPORTED Result cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    MUST_BE_READY();
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return SUCCESS;
}

EXPORTED Result cuCtxEnablePeerAccess(Context *peer, unsigned flags) { (void)peer, (void)flags; return ready() ? ready() : 217; }
EXPORTED Result cuCtxDisablePeerAccess(Context *peer) { (void)peer; return ready() ? ready() : 705; }

EXPORTED Result cuCtxAttach(Context **context, unsigned flags) {
    MUST_BE_READY();
    CHECK(context && flags == 0, INVALID_VALUE);
    *context = current_context();
    (*context)->uses++;
    return SUCCESS;
}

EXPORTED Result cuCtxDetach(Context *context) {
    CHECK(!ready(), ready());
    CHECK(IS(context, CONTEXT), INVALID_CONTEXT);
    if (--context->uses > 0 || context == &primary) return SUCCESS;
    return cuCtxDestroy_v2(context);
}

EXPORTED Result cuDevicePrimaryCtxRetain(Context **context, Device device) {
    DEVICE_CALL(device, context);
    primary.uses++;
    set_up(&primary);
    *context = &primary;
    return SUCCESS;
}

static Result reset_primary(void) {
    int left = depth, uses = primary.uses;
    release_modules_of(&primary);
    release_regions_of(&primary);
    primary.uses = 0;
    end_use_of_heap();
    primary.uses = uses;
    primary.id = ++last_context;
    memset(primary.limits, 0, sizeof primary.limits);
    set_up(&primary);
    depth = left;
    return SUCCESS;
}

EXPORTED Result cuDevicePrimaryCtxRelease_v2(Device device) {
    DEVICE_CALL(device, true);
    CHECK(primary.uses > 0, INVALID_CONTEXT);
    return --primary.uses ? SUCCESS : reset_primary();
}

EXPORTED Result cuDevicePrimaryCtxReset_v2(Device device) {
    DEVICE_CALL(device, true);
    return reset_primary();
}

EXPORTED Result cuDevicePrimaryCtxSetFlags_v2(Device device, unsigned flags) {
    DEVICE_CALL(device, true);
    primary.flags = flags;
    return SUCCESS;
}

EXPORTED Result cuDevicePrimaryCtxGetState(Device device, unsigned *flags, int *is_active) {
    DEVICE_CALL(device, flags && is_active);
    *flags = primary.flags;
    *is_active = primary.uses > 0;
    return SUCCESS;
}

/* --- streams --------------------------------------------------------------------------------------------------------- */

static Stream legacy_stream = {.kind = STREAM, .id = 1};
static uint64_t last_stream = 2;

/* The default stream of this thread; that of the first thread that uses it is stream 2. */
static Stream *thread_stream(void) {
    static Stream of_first_thread = {.kind = STREAM, .id = 2};
    static bool is_taken;
    static _Thread_local Stream *own;
    if (own) return own;
    lock();
    own = is_taken ? calloc(1, sizeof *own) : &of_first_thread;
    if (is_taken && own) *own = (Stream){.kind = STREAM, .id = ++last_stream};
    is_taken = true;
    unlock();
    if (own) begin_ordering(own);
    return own;
}

Stream *real_stream(void *handle) {
    if (handle == NULL || handle == (void *)1) return &legacy_stream;
    if (handle == (void *)2) return thread_stream();
    Stream *stream = handle;
    return stream->kind == STREAM ? stream : NULL;
}

EXPORTED Result cuStreamCreateWithPriority(Stream **stream, unsigned flags, int priority) {
    MUST_BE_READY();
    CHECK(stream && flags <= 1, INVALID_VALUE);
    *stream = calloc(1, sizeof **stream);
    CHECK(*stream, OUT_OF_MEMORY);
    if (priority > 0) priority = 0;
    if (priority < -5) priority = -5;
    **stream = (Stream){.kind = STREAM, .flags = flags, .priority = priority, .id = ++last_stream, .context = current_context()};
    begin_ordering(*stream);
    return SUCCESS;
}

EXPORTED Result cuStreamCreate(Stream **stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }

#define STREAM_CALL(handle, condition)                                                                                \
    MUST_BE_READY();                                                                                                  \
    Stream *stream = real_stream(handle);                                                                             \
    CHECK(stream, INVALID_HANDLE);                                                                                    \
    CHECK(condition, INVALID_VALUE)

EXPORTED Result cuStreamDestroy_v2(Stream *given) {
    STREAM_CALL(given, true);
    CHECK((uintptr_t)given > 2, INVALID_HANDLE);
    stream->kind = 0; /* kept, so that later uses of the handle are recognised */
    return SUCCESS;
}

EXPORTED Result cuStreamSynchronize(void *given) {
    STREAM_CALL(given, true);
    Result result = check_captures(stream, UNSAFE);
    if (result) return result;
    order_program_after_stream(stream);
    return ready();
}
EXPORTED Result cuStreamQuery(void *given) { return cuStreamSynchronize(given); }
EXPORTED Result cuStreamGetPriority(void *given, int *priority) { STREAM_CALL(given, priority); *priority = stream->priority; return SUCCESS; }
EXPORTED Result cuStreamGetFlags(void *given, unsigned *flags) { STREAM_CALL(given, flags); *flags = stream->flags; return SUCCESS; }
EXPORTED Result cuStreamGetId(void *given, unsigned long long *id) { STREAM_CALL(given, id); *id = stream->id; return SUCCESS; }
EXPORTED Result cuStreamGetDevice(void *given, Device *device) { STREAM_CALL(given, device); *device = 0; return SUCCESS; }
EXPORTED Result cuStreamGetCtx(void *given, Context **context) {
    STREAM_CALL(given, context);
    *context = stream->context ? stream->context : current_context();
    return SUCCESS;
}
EXPORTED Result cuStreamGetCtx_v2(void *given, Context **context, void **green) {
    if (green) *green = NULL;
    return cuStreamGetCtx(given, context);
}
EXPORTED Result cuStreamAttachMemAsync(void *given, Address address, size_t size, unsigned flags) {
    (void)size, (void)flags;
    STREAM_CALL(given, find_region(address));
    return SUCCESS;
}
EXPORTED Result cuStreamCopyAttributes(void *target, void *source) {
    STREAM_CALL(target, real_stream(source));
    return SUCCESS;
}
EXPORTED Result cuStreamGetAttribute(void *given, int attribute, void *value) {
    (void)attribute;
    STREAM_CALL(given, value);
    memset(value, 0, 64);
    return SUCCESS;
}
EXPORTED Result cuStreamSetAttribute(void *given, int attribute, const void *value) {
    (void)attribute;
    STREAM_CALL(given, value);
    return SUCCESS;
}

EXPORTED Result cuStreamAddCallback(void *given, void (*function)(void *, Result, void *), void *data, unsigned flags) {
    (void)flags;
    STREAM_CALL(given, function);
    Result result = check_captures(stream, SAFE);
    if (result) return result;
    run_work_before(stream);
    function(given, SUCCESS, data);
    return SUCCESS;
}

typedef struct {
    void (*function)(void *);
    void *data;
} HostCall;

static Result call_host(void *work, Stream *stream) {
    const HostCall *call = work;
    run_work_before(stream);
    call->function(call->data);
    return SUCCESS;
}

EXPORTED Result cuLaunchHostFunc(void *given, void (*function)(void *), void *data) {
    STREAM_CALL(given, function);
    HostCall call = {function, data};
    return is_capturing(stream) ? record_call(stream, HOST_NODE, call_host, &call, sizeof call) : call_host(&call, stream);
}

/* All that was called before, on any stream, is done: what is not there now never comes. */
static Result wait_value(void *given, Address address, uint64_t wanted, unsigned flags, size_t size) {
    STREAM_CALL(given, address % size == 0);
    if (is_capturing(stream)) return missing("cuStreamWaitValue while a stream is captured");
    uint64_t value = 0, mask = size == 8 ? ~0ull : 0xffffffffull;
    run_all_work();
    char *bytes = device_bytes(address, size);
    CHECK(bytes, INVALID_VALUE);
    memcpy(&value, bytes, size);
    bool is_there;
    switch (flags & 3) {
    case 0: is_there = size == 8 ? (int64_t)(value - wanted) >= 0 : (int32_t)(value - wanted) >= 0; break;
    case 1: is_there = value == (wanted & mask); break;
    case 2: is_there = (value & wanted) != 0; break;
    default: is_there = (~(value | wanted) & mask) != 0;
    }
    return is_there ? SUCCESS : missing("cuStreamWaitValue for a value that a later call writes");
}

EXPORTED Result cuStreamWaitValue32_v2(void *stream, Address address, uint32_t value, unsigned flags) { return wait_value(stream, address, value, flags, 4); }
EXPORTED Result cuStreamWaitValue64_v2(void *stream, Address address, uint64_t value, unsigned flags) { return wait_value(stream, address, value, flags, 8); }

/* --- events ---------------------------------------------------------------------------------------------------------- */

enum { DISABLE_TIMING = 2, INTERPROCESS = 4 };

EXPORTED Result cuEventCreate(Event **event, unsigned flags) {
    MUST_BE_READY();
    CHECK(event && flags < 8, INVALID_VALUE);
    if (flags & INTERPROCESS) return missing("events that other processes share");
    *event = calloc(1, sizeof **event);
    CHECK(*event, OUT_OF_MEMORY);
    **event = (Event){.kind = EVENT, .flags = flags, .time_ms = -1.0};
    return SUCCESS;
}

EXPORTED Result cuEventDestroy_v2(Event *event) {
    CHECK(!ready(), ready());
    CHECK(IS(event, EVENT), INVALID_HANDLE);
    event->kind = 0;
    return SUCCESS;
}

static Result record(void *task, const Order *order) {
    struct timespec now;
    Event *event;
    memcpy(&event, task, sizeof event);
    clock_gettime(CLOCK_MONOTONIC, &now);
    event->time_ms = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
    event->pending--;
    (void)order;
    return SUCCESS;
}

EXPORTED Result cuEventRecord(Event *event, void *given) {
    STREAM_CALL(given, true);
    CHECK(IS(event, EVENT), INVALID_HANDLE);
    if (is_capturing(stream)) return capture_event(event, stream);
    event->captured = NULL;
    event->pending++;
    Result result = submit(stream, record, &event, sizeof event, false);
    memcpy(event->clock, stream->clock, sizeof event->clock);
    return result;
}

EXPORTED Result cuEventRecordWithFlags(Event *event, void *given, unsigned flags) { (void)flags; return cuEventRecord(event, given); }

static Result check_event(Event *event) {
    CHECK(!ready(), ready());
    CHECK(IS(event, EVENT), INVALID_HANDLE);
    if (event->captured) return check_captured_event(event);
    order_program_after_event(event);
    return ready();
}

EXPORTED Result cuEventQuery(Event *event) { return check_event(event); }
EXPORTED Result cuEventSynchronize(Event *event) { return check_event(event); }
EXPORTED Result cuStreamWaitEvent(void *given, Event *event, unsigned flags) {
    STREAM_CALL(given, flags <= 1);
    CHECK(IS(event, EVENT), INVALID_HANDLE);
    if (is_capturing(stream) || event->captured) return capture_wait(stream, event);
    order_after(stream, event->clock);
    return SUCCESS;
}

EXPORTED Result cuEventElapsedTime(float *elapsed_ms, Event *start, Event *end) {
    CHECK(!ready(), ready());
    CHECK(elapsed_ms, INVALID_VALUE);
    CHECK(IS(start, EVENT) && IS(end, EVENT), INVALID_HANDLE);
    CHECK(!start->pending && !end->pending, NOT_READY);
    CHECK(!((start->flags | end->flags) & DISABLE_TIMING) && start->time_ms >= 0 && end->time_ms >= 0, INVALID_HANDLE);
    *elapsed_ms = (float)(end->time_ms - start->time_ms);
    return SUCCESS;
}

EXPORTED Result cuEventElapsedTime_v2(float *elapsed_ms, Event *start, Event *end) { return cuEventElapsedTime(elapsed_ms, start, end); }

/* --- errors and the profiler ----------------------------------------------------------------------------------------- */

static const struct { Result number; const char *name, *text; } errors[] = {
#define ERROR(number, name, text) {number, "CUDA_" name, text},
#include "errors.h"
#undef ERROR
};

static Result look_up(Result error, const char **text, bool is_name) {
    CHECK(text, INVALID_VALUE);
    *text = NULL;
    for (size_t index = 0; index < sizeof errors / sizeof *errors; index++)
        if (errors[index].number == error) {
            *text = is_name ? errors[index].name : errors[index].text;
            return SUCCESS;
        }
    return INVALID_VALUE;
}

EXPORTED Result cuGetErrorName(Result error, const char **name) { return look_up(error, name, true); }
EXPORTED Result cuGetErrorString(Result error, const char **text) { return look_up(error, text, false); }

EXPORTED Result cuProfilerInitialize(const char *config, const char *output, int mode) { (void)config, (void)output, (void)mode; return 5; }
EXPORTED Result cuProfilerStart(void) { return ready_with_context(); }
EXPORTED Result cuProfilerStop(void) { return ready_with_context(); }

/* NVIDIA's compilers ask for tables, too, and go on without one: they need no driver. */
static bool is_compiler(const void *caller) {
    static const char *const names[] = {"libnvrtc", "libnvJitLink", "libnvvm", "libnvptxcompiler"};
    Dl_info info;
    if (!dladdr(caller, &info) || !info.dli_fname) return false;
    for (size_t index = 0; index < sizeof names / sizeof *names; index++)
        if (strstr(info.dli_fname, names[index])) return true;
    return false;
}

EXPORTED Result cuGetExportTable(const void **table, const void *id) {
    (void)id;
    if (table) *table = NULL;
    if (is_compiler(__builtin_return_address(0))) return NOT_FOUND;
    char text[512];
    Dl_info info = {.dli_fname = NULL};
    dladdr(__builtin_return_address(0), &info);
    const char *path = info.dli_fname ? info.dli_fname : "the program", *slash = strrchr(path, '/');
    snprintf(text, sizeof text,
             "NVIDIA's static runtime, or a library of NVIDIA's, in %.100s, which asks for NVIDIA's driver (cuGetExportTable): "
             "build it with NVCC_APPEND_FLAGS=\"-cudart shared -gencode arch=compute_90,code=compute_90\", or use the driver API",
             slash ? slash + 1 : path);
    return missing(text);
}

/* --- functions by name ----------------------------------------------------------------------------------------------- */

enum { FOUND, SYMBOL_NOT_FOUND, VERSION_NOT_SUFFICIENT };

EXPORTED Result cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
    int found = SYMBOL_NOT_FOUND, best = -1;
    (void)flags;
    CHECK(name && function, INVALID_VALUE);
    *function = NULL;
    if (strcmp(name, "") == 0) return INVALID_VALUE;
    for (size_t index = 0; index < procedure_count; index++) {
        const Procedure *row = &procedures[index];
        if (strcmp(row->name, name) != 0) continue;
        if (found == SYMBOL_NOT_FOUND) found = VERSION_NOT_SUFFICIENT;
        if (row->version <= version && row->version > best) {
            best = row->version;
            *function = row->function;
            found = FOUND;
        }
    }
    if (status) *status = found;
    return found == FOUND ? SUCCESS : NOT_FOUND;
}

EXPORTED Result cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
