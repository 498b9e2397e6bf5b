/* Injection library: sees every launch of a process through CUPTI's callbacks.
 *
 * The driver loads it because CUDA_INJECTION64_PATH names it, and calls InitializeInjection. The environment says what
 * to keep (`Request`). A launch is logged before it happens. For a chosen one, all other launches wait, the device
 * is idle, and memory is copied before and after it.
 */
#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PER_THREAD ((Handle)2) /* CU_STREAM_PER_THREAD */

enum { TABLE = 1 << 14, LOST = 709 /* CUDA_ERROR_CONTEXT_IS_DESTROYED */, NOT_RECORDING = 401 /* CUDA_ERROR_ILLEGAL_STATE */ };

Request request;
Driver driver;
char process_name[256];
size_t process_name_length;

static Function *functions[TABLE]; /* by handle, open addressing */
static Kernel *kernels;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t turn = PTHREAD_RWLOCK_INITIALIZER; /* a chosen launch takes it alone */
static atomic_uint_fast64_t last_number;
static atomic_int captures; /* streams that record a graph */
static atomic_flag is_described = ATOMIC_FLAG_INIT; /* the process, in its records */
static bool is_log_only; /* no launch can be chosen */
static pthread_key_t launch_key; /* frees a thread's `current` */
static bool is_forked; /* a child cannot use its parent's GPU, and shares its log */
__thread bool is_inside;
static __thread Launch *current; /* on the heap: a thread's own storage is small */
static __thread enum { NONE, SKIPPED, LOGGED, CHOSEN } state;

const char *error_name(Result error)
{
    const char *name = NULL;
    if (!driver.get_error_name || driver.get_error_name(error, &name) != 0 || !name)
        return "unknown error of the driver";
    return name;
}

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
    pthread_mutex_lock(&table_lock);
    if (count < MOST_CONTEXTS) {
        known[count].context = context;
        known[count].device = device;
        count++;
    }
    pthread_mutex_unlock(&table_lock);
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

static Kernel *kernel_of(const char *name, uint64_t digest)
{
    for (Kernel *kernel = kernels; kernel; kernel = kernel->next)
        if (kernel->digest == digest && strcmp(kernel->name, name) == 0)
            return kernel;
    Kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return NULL;
    kernel->name = strdup(name);
    kernel->name_length = strnlen(name, 2048);
    kernel->digest = digest;
    kernel->is_wanted = matches(name, request.kernels);
    kernel->next = kernels;
    kernels = kernel;
    return kernel;
}

static void describe(Function *function, const char *symbol)
{
    Handle handle = function->handle, plain = handle, library = NULL;
    size_t offset, size;
    const char *name = symbol;
    int mode = relax_recording();
    begin_loading();
    if (driver.kernel_get_function && driver.func_get_module && driver.func_get_module(&function->module, handle) != 0 &&
        driver.kernel_get_function(&plain, handle) == 0) { /* a CUkernel in a CUfunction's place */
        driver.func_get_module(&function->module, plain);
        if (driver.kernel_get_library)
            driver.kernel_get_library(&library, handle);
    }
    if (driver.func_load) /* a function may be loaded by its first launch only */
        driver.func_load(plain);
    if ((!name || !name[0]) && (!driver.func_get_name || driver.func_get_name(&name, plain) != 0))
        name = "?";
    while (driver.func_get_param_info && function->count < MOST_PARAMETERS &&
           driver.func_get_param_info(plain, function->count, &offset, &size) == 0 &&
           offset + size <= MOST_PARAMETER_BYTES) {
        function->offsets[function->count] = offset;
        function->sizes[function->count++] = size;
        function->bytes = offset + size;
    }
    restore_recording(mode);
    function->image = find_image(function->module, library, name);
    function->kernel = kernel_of(name, function->image ? function->image->digest : 0);
}

static Function *function_of(Handle handle, const char *symbol)
{
    size_t at = ((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15u >> 50;
    for (unsigned tried = 0; tried < TABLE; tried++, at = (at + 1) % TABLE) {
        Function *function = __atomic_load_n(&functions[at], __ATOMIC_ACQUIRE);
        if (function && function->handle == handle)
            return function;
        if (function)
            continue;
        pthread_mutex_lock(&table_lock);
        if (functions[at]) { /* another thread was faster */
            pthread_mutex_unlock(&table_lock);
            return function_of(handle, symbol);
        }
        function = calloc(1, sizeof *function);
        if (function) {
            function->handle = handle;
            describe(function, symbol);
            if (function->kernel)
                __atomic_store_n(&functions[at], function, __ATOMIC_RELEASE);
            else
                function = NULL;
        }
        pthread_mutex_unlock(&table_lock);
        return function;
    }
    return NULL;
}

/* Handles are invalid: they may be given out again. What they pointed to is kept, as a launch may be using it. */
static void forget_functions(void)
{
    pthread_mutex_lock(&table_lock);
    memset(functions, 0, sizeof functions);
    pthread_mutex_unlock(&table_lock);
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

static bool is_cooperative(uint32_t id)
{
    return id == CB_LaunchCooperative || id == CB_LaunchCooperative_ptsz;
}

static void free_launch(void *launch)
{
    free(launch);
    current = NULL; /* another thread-local destructor may launch once more */
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
    else if (!is_log_only)
        pthread_rwlock_rdlock(&turn);
    current->number = ++last_number;
    log_begin(current, device);
    current->began = request.sync ? exact_now() : 0;
}

static void end_turn(void)
{
    if (!is_log_only)
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

static void enter_launch(uint32_t id, const CallbackData *data)
{
    if (!begin_launch(data) || !read_launch(id, data))
        return;
    Kernel *kernel = current->function->kernel;
    Handle graph;
    if (captures > 0 && is_recorded(current->stream, &graph)) {
        if (kernel->is_wanted)
            refuse(kernel, "it is launched while a stream is captured into a CUDA graph");
        note_recorded(graph, kernel->name);
        return;
    }
    current->occurrence = __atomic_add_fetch(&kernel->launches, 1, __ATOMIC_RELAXED);
    bool is_due = is_chosen(kernel, current->occurrence) && !is_lost(current->context);
    if (is_due && captures > 0) /* no wait for the GPU is allowed */
        refuse(kernel, "it is launched while another stream is captured into a CUDA graph");
    is_due = is_due && captures == 0;
    begin_log(is_due);
    if (is_due)
        keep_inputs();
}

static void enter_graph(uint32_t id, const CallbackData *data)
{
    const GraphLaunchParams *given = data->params;
    Handle graph;
    if (!begin_launch(data))
        return;
    current->stream = id == CB_GraphLaunch_ptsz && !given->stream ? PER_THREAD : given->stream;
    if (captures > 0 && is_recorded(current->stream, &graph))
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
        int mode = captures > 0 ? relax_recording() : -1;
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

static void exit_launch(const CallbackData *data)
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

static bool is_sticky(Result error)
{
    return error == 214 || error == 700 || error == 702 || (error >= 714 && error <= 719);
}

static void exit_call(uint32_t id, const CallbackData *data)
{
    Result result = data->result ? *(const Result *)data->result : 0;
    if (is_sticky(result)) {
        blame(data->context, result);
        return;
    }
    if (result != 0)
        return;
    switch (id) {
    case CB_ModuleLoad:
    case CB_LibraryLoadFromFile:
        remember_loaded(*((const LoadParams *)data->params)->loaded, ((const LoadParams *)data->params)->image, true);
        break;
    case CB_ModuleLoadData:
    case CB_ModuleLoadDataEx:
    case CB_ModuleLoadFatBinary:
    case CB_LibraryLoadData:
        remember_loaded(*((const LoadParams *)data->params)->loaded, ((const LoadParams *)data->params)->image, false);
        break;
    case CB_StreamBeginCapture:
    case CB_StreamBeginCapture_ptsz:
    case CB_StreamBeginCapture_v2:
    case CB_StreamBeginCapture_v2_ptsz:
    case CB_StreamBeginCaptureToGraph:
    case CB_StreamBeginCaptureToGraph_ptsz:
        captures++;
        break;
    case CB_GraphInstantiate:
    case CB_GraphInstantiate_v2:
    case CB_GraphInstantiateWithFlags:
    case CB_GraphInstantiateWithParams:
    case CB_GraphInstantiateWithParams_ptsz: {
        const InstantiateParams *given = data->params;
        note_executable(*given->executable, given->graph);
        break;
    }
    case CB_CtxSynchronize:
        note_finished_all(data->context);
        break;
    case CB_CtxSynchronize_v2: { /* of any context */
        Handle context = ((const ContextParams *)data->params)->context;
        note_finished_all(context ? context : data->context);
        break;
    }
    case CB_StreamSynchronize:
        note_finished_stream(data->context, ((const StreamParams *)data->params)->stream);
        break;
    case CB_StreamSynchronize_ptsz: {
        Handle stream = ((const StreamParams *)data->params)->stream;
        note_finished_stream(data->context, stream ? stream : PER_THREAD);
        break;
    }
    case CB_MemcpyDtoH: /* a copy that the default stream waits for */
        note_finished_stream(data->context, NULL);
        break;
    case CB_MemcpyDtoH_ptds:
        note_finished_stream(data->context, PER_THREAD);
        break;
    case CB_EventSynchronize:
        note_markers();
        break;
    default:
        break;
    }
}

static bool is_load(uint32_t id)
{
    return (id >= CB_ModuleLoad && id <= CB_ModuleLoadFatBinary) || id == CB_LibraryLoadData ||
           id == CB_LibraryLoadFromFile;
}

static bool is_launch(uint32_t id)
{
    return id == CB_LaunchKernel || id == CB_LaunchKernel_ptsz || id == CB_LaunchKernelEx ||
           id == CB_LaunchKernelEx_ptsz || is_cooperative(id);
}

static void on_driver_call(uint32_t id, const CallbackData *data)
{
    if (id == CB_GraphLaunch || id == CB_GraphLaunch_ptsz) {
        if (data->site == SITE_ENTER)
            enter_graph(id, data);
        else
            exit_launch(data);
        return;
    }
    if (is_launch(id)) {
        if (data->site == SITE_ENTER)
            enter_launch(id, data);
        else
            exit_launch(data);
        return;
    }
    if (data->site == SITE_EXIT) {
        exit_call(id, data);
        return;
    }
    Handle graph;
    switch (id) {
    case CB_ModuleUnload:
    case CB_LibraryUnload:
        forget_functions();
        forget_images();
        break;
    case CB_GraphDestroy:
        forget_graph(((const GraphParams *)data->params)->graph);
        break;
    case CB_StreamEndCapture:
    case CB_StreamEndCapture_ptsz:
    case CB_StreamDestroy: /* a recording ends with its stream */
    case CB_StreamDestroy_v2:
        if (captures > 0 && is_recorded(((const StreamParams *)data->params)->stream, &graph))
            captures--;
        break;
    default:
        if (is_load(id))
            begin_loading();
        break;
    }
}

static void on_call(void *user, int domain, uint32_t id, const void *data)
{
    (void)user;
    if (domain == DOMAIN_RESOURCE && !is_forked) { /* also within a call of this library, which may load a function */
        const ModuleData *module = id == RESOURCE_MODULE_LOADED ? ((const ResourceData *)data)->descriptor : NULL;
        if (module)
            remember_cubin(module->cubin, module->size);
        return;
    }
    if (is_inside || is_forked)
        return;
    is_inside = true;
    on_driver_call(id, data);
    is_inside = false;
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && text[0] ? strtoull(text, NULL, 10) : otherwise;
}

static bool read_request(void)
{
    request.folder = getenv("GPUREGRESS_CAPTURE_FOLDER");
    request.kernels = getenv("GPUREGRESS_CAPTURE_KERNEL");
    if (!request.kernels)
        request.kernels = "*";
    request.nth = number_of("GPUREGRESS_CAPTURE_NTH", 0);
    request.every = number_of("GPUREGRESS_CAPTURE_EVERY", 0);
    request.max = number_of("GPUREGRESS_CAPTURE_MAX", 0);
    request.max_bytes = number_of("GPUREGRESS_CAPTURE_MAX_BYTES", 1ull << 30);
    request.sync = number_of("GPUREGRESS_CAPTURE_SYNC", 0) != 0;
    request.wait = (double)number_of("GPUREGRESS_CAPTURE_WAIT", 60);
    is_log_only = !request.nth && !request.every && !request.max;
    return request.folder != NULL;
}

static void stop_in_child(void)
{
    is_forked = true;
}

static void note_exit(int status, void *unused)
{
    (void)unused;
    if (!is_forked)
        log_exit(status);
}

static void *look_up(void *library, const char *name, const char *otherwise)
{
    void *found = dlsym(library, name);
    return found || !otherwise ? found : dlsym(library, otherwise);
}

static void find_driver(void)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!cuda)
        return;
    *(void **)&driver.ctx_get_device = look_up(cuda, "cuCtxGetDevice", NULL);
    *(void **)&driver.ctx_set_current = look_up(cuda, "cuCtxSetCurrent", NULL);
    *(void **)&driver.ctx_synchronize = look_up(cuda, "cuCtxSynchronize", NULL);
    *(void **)&driver.device_get_name = look_up(cuda, "cuDeviceGetName", NULL);
    *(void **)&driver.device_get_attribute = look_up(cuda, "cuDeviceGetAttribute", NULL);
    *(void **)&driver.driver_get_version = look_up(cuda, "cuDriverGetVersion", NULL);
    *(void **)&driver.func_get_param_info = look_up(cuda, "cuFuncGetParamInfo", NULL);
    *(void **)&driver.func_get_attribute = look_up(cuda, "cuFuncGetAttribute", NULL);
    *(void **)&driver.func_get_module = look_up(cuda, "cuFuncGetModule", NULL);
    *(void **)&driver.func_load = look_up(cuda, "cuFuncLoad", NULL);
    *(void **)&driver.func_get_name = look_up(cuda, "cuFuncGetName", NULL);
    *(void **)&driver.get_error_name = look_up(cuda, "cuGetErrorName", NULL);
    *(void **)&driver.kernel_get_function = look_up(cuda, "cuKernelGetFunction", NULL);
    *(void **)&driver.kernel_get_library = look_up(cuda, "cuKernelGetLibrary", NULL);
    *(void **)&driver.mem_host_alloc = look_up(cuda, "cuMemHostAlloc", NULL);
    *(void **)&driver.memcpy_dtoh = look_up(cuda, "cuMemcpyDtoH_v2", NULL);
    *(void **)&driver.module_get_global = look_up(cuda, "cuModuleGetGlobal_v2", NULL);
    *(void **)&driver.pointer_get_attributes = look_up(cuda, "cuPointerGetAttributes", NULL);
    *(void **)&driver.stream_get_capture_info = look_up(cuda, "cuStreamGetCaptureInfo_v2", NULL);
    *(void **)&driver.stream_synchronize = look_up(cuda, "cuStreamSynchronize", NULL);
    *(void **)&driver.stream_write_value = look_up(cuda, "cuStreamWriteValue32_v2", "cuStreamWriteValue32");
    *(void **)&driver.thread_exchange_capture_mode = look_up(cuda, "cuThreadExchangeStreamCaptureMode", NULL);
}

static const uint32_t CALLS[] = {
    CB_LaunchKernel, CB_LaunchKernel_ptsz, CB_LaunchKernelEx, CB_LaunchKernelEx_ptsz, CB_LaunchCooperative,
    CB_LaunchCooperative_ptsz, CB_GraphLaunch, CB_GraphLaunch_ptsz, CB_GraphInstantiate,
    CB_GraphInstantiate_v2, CB_GraphInstantiateWithFlags, CB_GraphInstantiateWithParams,
    CB_GraphInstantiateWithParams_ptsz, CB_StreamBeginCapture, CB_StreamBeginCapture_ptsz,
    CB_StreamBeginCapture_v2, CB_StreamBeginCapture_v2_ptsz, CB_StreamBeginCaptureToGraph,
    CB_StreamBeginCaptureToGraph_ptsz, CB_StreamEndCapture, CB_StreamEndCapture_ptsz, CB_StreamDestroy,
    CB_StreamDestroy_v2, CB_GraphDestroy, CB_ModuleLoad, CB_ModuleLoadData,
    CB_ModuleLoadDataEx, CB_ModuleLoadFatBinary, CB_ModuleUnload, CB_LibraryLoadData, CB_LibraryLoadFromFile,
    CB_LibraryUnload, CB_CtxSynchronize, CB_CtxSynchronize_v2, CB_StreamSynchronize, CB_StreamSynchronize_ptsz,
    CB_EventSynchronize, CB_StreamQuery, CB_StreamQuery_ptsz, CB_EventQuery, CB_MemcpyDtoH, CB_MemcpyDtoH_ptds,
    CB_MemcpyDtoHAsync, CB_MemcpyDtoHAsync_ptsz, CB_MemcpyHtoD, CB_MemcpyHtoD_ptds, CB_Memcpy, CB_Memcpy_ptds,
    CB_MemcpyAsync, CB_MemcpyAsync_ptsz, CB_MemAlloc, CB_MemFree,
};

static bool subscribe(void)
{
    const char *path = getenv("GPUREGRESS_CAPTURE_CUPTI");
    void *cupti = dlopen(path && path[0] ? path : "libcupti.so", RTLD_NOW | RTLD_GLOBAL);
    if (!cupti) {
        write_problem(dlerror());
        return false;
    }
    Result (*cupti_subscribe)(Handle *, Callback, void *);
    Result (*enable)(uint32_t, Handle, int, uint32_t);
    *(void **)&cupti_subscribe = dlsym(cupti, "cuptiSubscribe");
    *(void **)&enable = dlsym(cupti, "cuptiEnableCallback");
    Handle subscriber;
    Result error = cupti_subscribe && enable ? cupti_subscribe(&subscriber, on_call, NULL) : -1;
    if (error != 0) {
        char text[200];
        snprintf(text, sizeof text, "cuptiSubscribe failed with error %d; another profiler may be attached", error);
        write_problem(text);
        return false;
    }
    for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++)
        enable(1, subscriber, DOMAIN_DRIVER, CALLS[i]);
    enable(1, subscriber, DOMAIN_RESOURCE, RESOURCE_MODULE_LOADED);
    return true;
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
    char comm[128] = "process", line[192];
    if (!read_request())
        return 1;
    FILE *file = fopen("/proc/self/comm", "r");
    if (file) {
        if (fgets(comm, sizeof comm, file))
            comm[strcspn(comm, "\n")] = 0;
        fclose(file);
    }
    snprintf(line, sizeof line, "%s[%d]", comm, (int)getpid());
    escape(line, process_name, sizeof process_name);
    process_name_length = strlen(process_name);
    find_driver();
    open_log();
    pthread_key_create(&launch_key, free_launch);
    pthread_atfork(NULL, NULL, stop_in_child);
    on_exit(note_exit, NULL);
    subscribe();
    return 1;
}
