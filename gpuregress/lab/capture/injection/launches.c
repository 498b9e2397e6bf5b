/* Launches: each is logged before it happens.
 *
 * For a chosen one, all other launches wait, the device is idle, and memory is copied before and after it.
 */
#define _GNU_SOURCE
#include "library.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOST = 709 /* CUDA_ERROR_CONTEXT_IS_DESTROYED */ };

static pthread_mutex_t context_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t turn = PTHREAD_RWLOCK_INITIALIZER; /* a chosen launch takes it alone */
static atomic_uint_fast64_t last_number;
static atomic_flag is_described = ATOMIC_FLAG_INIT; /* the process, in its records */
static pthread_key_t launch_key; /* frees a thread's `current` */
static __thread Launch *current; /* on the heap: a thread's own storage is small */
static __thread enum { NONE, SKIPPED, LOGGED, CHOSEN } state;

static double exact_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int device_of(Handle context)
{
    static struct {
        Handle context;
        int device;
    } known[MOST_CONTEXTS];
    static atomic_int count;
    int device = 0, filled = count;
    for (int i = 0; i < filled; i++)
        if (known[i].context == context)
            return known[i].device;
    if (!driver.ctx_get_device || driver.ctx_get_device(&device) != 0)
        device = 0;
    pthread_mutex_lock(&context_lock);
    if (count < MOST_CONTEXTS) {
        known[count].context = context;
        known[count].device = device;
        count++;
    }
    pthread_mutex_unlock(&context_lock);
    return device;
}

static void write_process(int device)
{
    char name[256] = "", line[4096] = "";
    int version = 0, major = 0, minor = 0;
    if (driver.device_get_name)
        driver.device_get_name(name, sizeof name, device);
    if (driver.driver_get_version)
        driver.driver_get_version(&version);
    if (driver.device_get_attribute) {
        driver.device_get_attribute(&major, 75, device);
        driver.device_get_attribute(&minor, 76, device);
    }
    FILE *arguments = fopen("/proc/self/cmdline", "rb"), *file = begin_record();
    if (file) {
        size_t size = arguments ? fread(line, 1, sizeof line - 1, arguments) : 0;
        fprintf(file, "{\"event\": \"process\", \"process\": %d, \"version\": %d, \"architecture\": \"sm_%d%d\", \"device\": ",
                (int)getpid(), version, major, minor);
        write_text(file, name);
        fputs(", \"command\": [", file);
        for (size_t at = 0; at < size; at += strlen(line + at) + 1) {
            fputs(at ? ", " : "", file);
            write_text(file, line + at);
        }
        fputs("]}", file);
        end_record(file);
    }
    if (arguments)
        fclose(arguments);
}

static bool is_chosen(const Kernel *kernel, uint64_t seen)
{
    if (!kernel->is_wanted)
        return false;
    if (request.nth)
        return seen == request.nth;
    if (request.every)
        return (seen - 1) % request.every == 0;
    return seen <= request.max;
}

static void read_values(void **params, void **extra)
{
    const Function *function = current->function;
    if (params) {
        for (unsigned i = 0; i < function->count; i++)
            memcpy(current->values + function->offsets[i], params[i], function->sizes[i]);
        return;
    }
    memset(current->values, 0, function->bytes);
    const void *buffer = NULL;
    size_t size = 0;
    for (; extra && *extra != (void *)EXTRA_END; extra += 2) {
        if (*extra == (void *)EXTRA_BUFFER)
            buffer = extra[1];
        else if (*extra == (void *)EXTRA_SIZE)
            size = *(const size_t *)extra[1];
    }
    if (buffer)
        memcpy(current->values, buffer, size < MOST_PARAMETER_BYTES ? size : MOST_PARAMETER_BYTES);
}

bool is_cooperative(uint32_t id)
{
    return id == CB_LaunchCooperative || id == CB_LaunchCooperative_ptsz;
}

static void free_launch(void *launch)
{
    free(launch);
    current = NULL; /* another thread-local destructor may launch once more */
}

void prepare_launches(void)
{
    pthread_key_create(&launch_key, free_launch);
}

/* The thread's launch; false where there is no memory for it. */
static bool begin_launch(const CallbackData *data)
{
    state = SKIPPED;
    if (!current) {
        current = calloc(1, sizeof *current);
        pthread_setspecific(launch_key, current);
    }
    if (current)
        current->context = data->context;
    return current != NULL;
}

static bool read_launch(uint32_t id, const CallbackData *data)
{
    void **params, **extra = NULL;
    Handle function;
    current->is_cooperative = is_cooperative(id);
    current->cluster[0] = current->cluster[1] = current->cluster[2] = 1;
    if (id == CB_LaunchKernelEx || id == CB_LaunchKernelEx_ptsz) {
        const LaunchExParams *given = data->params;
        const LaunchConfig *config = given->config;
        memcpy(current->grid, config->grid, sizeof current->grid);
        memcpy(current->block, config->block, sizeof current->block);
        current->shared = config->shared;
        current->stream = config->stream;
        function = given->function;
        params = given->params;
        extra = given->extra;
        for (unsigned i = 0; config->attributes && i < config->attribute_count; i++) {
            const LaunchAttribute *attribute = &config->attributes[i];
            if (attribute->id == ATTRIBUTE_CLUSTER)
                memcpy(current->cluster, &attribute->value.cluster, sizeof current->cluster);
            if (attribute->id == ATTRIBUTE_COOPERATIVE)
                current->is_cooperative = attribute->value.number != 0;
        }
    } else {
        const LaunchParams *given = data->params;
        memcpy(current->grid, given->grid, sizeof current->grid);
        memcpy(current->block, given->block, sizeof current->block);
        current->shared = given->shared;
        current->stream = given->stream;
        function = given->function;
        params = given->params;
        extra = current->is_cooperative ? NULL : given->extra;
    }
    bool is_per_thread = id == CB_LaunchKernel_ptsz || id == CB_LaunchKernelEx_ptsz || id == CB_LaunchCooperative_ptsz;
    if (is_per_thread && !current->stream)
        current->stream = PER_THREAD;
    current->function = function_of(function, data->symbol);
    if (!current->function)
        return false;
    read_values(params, extra);
    return true;
}

/* Log a launch that is about to happen. */
static void begin_log(bool is_due)
{
    int device = device_of(current->context);
    if (!atomic_flag_test_and_set(&is_described))
        write_process(device);
    state = is_due ? CHOSEN : LOGGED;
    if (state == CHOSEN)
        pthread_rwlock_wrlock(&turn);
    else if (!request.is_log_only)
        pthread_rwlock_rdlock(&turn);
    current->number = ++last_number;
    log_begin(current, device);
    current->began = request.sync ? exact_now() : 0;
}

static void end_turn(void)
{
    if (!request.is_log_only)
        pthread_rwlock_unlock(&turn);
    state = NONE;
}

/* Keep what is there before a chosen launch. */
static void keep_inputs(void)
{
    Result error = wait_for_gpu(current->context);
    if (error == TOO_LONG) {
        refuse(current->function->kernel, "the GPU was still busy before the launch after the time limit (--launch-timeout)");
        state = LOGGED; /* it has its turn alone nevertheless */
        return;
    }
    if (error != 0)
        blame(current->context, error);
    else
        note_finished_all(current->context);
    keep_before(current, device_of(current->context));
}

void enter_launch(uint32_t id, const CallbackData *data)
{
    if (!begin_launch(data) || !read_launch(id, data))
        return;
    Kernel *kernel = current->function->kernel;
    Handle graph;
    if (recording_streams > 0 && is_recorded(current->stream, &graph)) {
        if (kernel->is_wanted)
            refuse(kernel, "it is launched while a stream is captured into a CUDA graph");
        note_recorded(graph, kernel->name);
        return;
    }
    current->occurrence = __atomic_add_fetch(&kernel->launches, 1, __ATOMIC_RELAXED);
    bool is_due = is_chosen(kernel, current->occurrence) && !is_lost(current->context);
    if (is_due && recording_streams > 0) /* no wait for the GPU is allowed */
        refuse(kernel, "it is launched while another stream is captured into a CUDA graph");
    is_due = is_due && recording_streams == 0;
    begin_log(is_due);
    if (is_due)
        keep_inputs();
}

void enter_graph(uint32_t id, const CallbackData *data)
{
    const GraphLaunchParams *given = data->params;
    Handle graph;
    if (!begin_launch(data))
        return;
    current->stream = id == CB_GraphLaunch_ptsz && !given->stream ? PER_THREAD : given->stream;
    if (recording_streams > 0 && is_recorded(current->stream, &graph))
        return;
    current->function = function_of_graph(given->executable);
    if (!current->function)
        return;
    for (int axis = 0; axis < 3; axis++)
        current->grid[axis] = current->block[axis] = current->cluster[axis] = 1;
    current->shared = 0;
    begin_log(false);
}

/* Wait for a launch that is chosen, or for each one with --sync, and keep what it left. */
static void end_waited(Result result)
{
    Result error = result;
    if (!error && state == CHOSEN) {
        error = wait_for_gpu(current->context);
    } else if (!error && driver.stream_synchronize) {
        int mode = recording_streams > 0 ? relax_recording() : -1;
        error = driver.stream_synchronize(current->stream);
        restore_recording(mode);
    }
    if (error == TOO_LONG) {
        note_launch(current);
        give_up(current);
        return;
    }
    if (result == 0 && error == 0) {
        log_end(current->number, current->number, request.sync ? 1e3 * (exact_now() - current->began) : NAN);
    } else if (result == 0) {
        note_launch(current);
        blame(current->context, error);
    }
    if (state == CHOSEN)
        keep_after(current, error);
}

void exit_launch(const CallbackData *data)
{
    Result result = data->result ? *(const Result *)data->result : 0;
    if (state == SKIPPED)
        return;
    if (is_lost(current->context)) {
        log_text(RECORD_RETRY, current->number, "not run: an earlier launch had failed");
        if (state == CHOSEN)
            keep_after(current, result ? result : LOST);
        end_turn();
        return;
    }
    if (result != 0) {
        char text[200];
        snprintf(text, sizeof text, "%s, returned by the launch itself", error_name(result));
        log_text(RECORD_FAULT, current->number, text);
    }
    if (state == CHOSEN || (request.sync && result == 0))
        end_waited(result);
    else if (result == 0)
        note_launch(current);
    end_turn();
}
