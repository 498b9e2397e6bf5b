/* Modules, libraries, functions, their launches and occupancy, and the linker. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS, SHARED_BYTES_USED, CONSTANT_BYTES, LOCAL_BYTES, REGISTERS, MAX_DYNAMIC_SHARED = 8, NON_PORTABLE_CLUSTER = 14, ATTRIBUTES = 18 };
enum { ERROR_LOG = 5, ERROR_LOG_BYTES = 6 };

static Module *modules;

/* --- images ---------------------------------------------------------------------------------------------------------- */

enum { FATBIN_MAGIC = 0xBA55ED50, WRAPPER_MAGIC = 0x466243B1, ELF_MAGIC = 0x464C457F, LINKED_MAGIC = 0x4B4E4C47 };

/* How a fatbin begins, and an image that our linker makes, which then has the size of each part before it. */
typedef struct {
    uint32_t magic;
    uint16_t version, head;
    uint64_t size; /* after this head */
} ImageHead;

/* The bytes of an image that is given by its first one alone. */
static size_t image_size(const void **image) {
    uint32_t magic;
    memcpy(&magic, *image, sizeof magic);
    if (magic == WRAPPER_MAGIC) {
        memcpy(image, (const char *)*image + 8, sizeof *image);
        memcpy(&magic, *image, sizeof magic);
    }
    if (magic == FATBIN_MAGIC || magic == LINKED_MAGIC) {
        ImageHead head;
        memcpy(&head, *image, sizeof head);
        return head.head + head.size;
    }
    return magic == ELF_MAGIC ? 64 : strlen(*image);
}

static void write_log(Answer *answer, unsigned count, const int *options, void **values) {
    char *log = NULL;
    size_t size = 0;
    for (unsigned index = 0; options && values && index < count; index++) {
        if (options[index] == ERROR_LOG) log = values[index];
        if (options[index] == ERROR_LOG_BYTES) size = (size_t)(uintptr_t)values[index];
    }
    if (log && size) snprintf(log, size, "%.*s", (int)answer->size, answer->data);
}

static Result load(Module **module, const void *image, size_t size, unsigned count, const int *options, void **values) {
    Answer answer;
    MUST_BE_READY();
    CHECK(module && image, INVALID_VALUE);
    if (!size) size = image_size(&image);
    lock();
    Result result = ASK(LOAD, &answer, {image, size});
    if (result) {
        write_log(&answer, count, options, values);
    } else {
        Module *made = calloc(1, sizeof *made);
        *made = (Module){.kind = MODULE, .context = current_context(), .next = modules};
        memcpy(&made->number, answer.data, sizeof made->number);
        modules = *module = made;
    }
    free_answer(&answer);
    unlock();
    return result;
}

/* A file's bytes and a zero, to be freed; NULL where there is no memory. The file is closed. */
static char *read_all(FILE *file, size_t *size) {
    size_t room = 1 << 16;
    char *text = malloc(room + 1);
    *size = 0;
    while (text) {
        *size += fread(text + *size, 1, room - *size, file);
        if (*size < room) break;
        room *= 2;
        char *grown = realloc(text, room + 1);
        if (!grown) free(text);
        text = grown;
    }
    fclose(file);
    if (text) text[*size] = 0;
    return text;
}

static Result load_file(Module **module, const char *path, unsigned count, const int *options, void **values) {
    MUST_BE_READY();
    CHECK(module && path, INVALID_VALUE);
    FILE *file = fopen(path, "rb");
    CHECK(file, FILE_NOT_FOUND);
    size_t size;
    char *image = read_all(file, &size);
    Result result = image && size ? load(module, image, size, count, options, values) : INVALID_IMAGE;
    free(image);
    return result;
}

static Result unload(Module *module) {
    uint32_t number = module->number;
    lock();
    run_all_work();
    Result result = ASK(UNLOAD, NULL, VALUE(number));
    forget_variables();
    for (Module **link = &modules; *link; link = &(*link)->next)
        if (*link == module) {
            *link = module->next;
            break;
        }
    for (Function *function = module->functions; function; function = function->next) function->kind = 0;
    module->kind = 0; /* kept, as its functions are, so that later uses of the handles are recognised */
    unlock();
    return result;
}

void release_modules_of(Context *context) {
    for (Module *module = modules, *next; module; module = next) {
        next = module->next;
        if (module->context == context) unload(module);
    }
}

EXPORTED Result cuModuleLoadData(Module **module, const void *image) { return load(module, image, 0, 0, NULL, NULL); }
EXPORTED Result cuModuleLoadFatBinary(Module **module, const void *image) { return load(module, image, 0, 0, NULL, NULL); }
EXPORTED Result cuModuleLoad(Module **module, const char *path) { return load_file(module, path, 0, NULL, NULL); }
EXPORTED Result cuModuleLoadDataEx(Module **module, const void *image, unsigned count, int *options, void **values) {
    return load(module, image, 0, count, options, values);
}

EXPORTED Result cuModuleUnload(Module *module) {
    MUST_BE_READY();
    CHECK(IS(module, MODULE), INVALID_HANDLE);
    return unload(module);
}

EXPORTED Result cuModuleGetLoadingMode(int *mode) {
    CHECK(mode, INVALID_VALUE);
    *mode = 1;
    return SUCCESS;
}

EXPORTED Result cuLibraryLoadData(Module **library, const void *image, int *options, void **values, unsigned count,
                                  int *library_options, void **library_values, unsigned library_count) {
    (void)library_options, (void)library_values, (void)library_count;
    if (!ready() && !current_context()) return INVALID_CONTEXT;
    return load(library, image, 0, count, options, values);
}
EXPORTED Result cuLibraryLoadFromFile(Module **library, const char *path, int *options, void **values, unsigned count,
                                      int *library_options, void **library_values, unsigned library_count) {
    (void)library_options, (void)library_values, (void)library_count;
    return load_file(library, path, count, options, values);
}
EXPORTED Result cuLibraryUnload(Module *library) { return cuModuleUnload(library); }
EXPORTED Result cuLibraryGetModule(Module **module, Module *library) {
    MUST_BE_READY();
    CHECK(IS(library, MODULE), INVALID_HANDLE);
    CHECK(module, INVALID_VALUE);
    *module = library;
    return SUCCESS;
}

/* --- functions and variables ----------------------------------------------------------------------------------------- */

typedef struct {
    uint32_t number, count, bytes;
    int32_t attributes[ATTRIBUTES];
    uint32_t parameters[][2];
} FunctionFacts;

static Function *make_function(Module *module, const char *name, const Answer *answer) {
    const FunctionFacts *facts = (const void *)answer->data;
    Function *function = calloc(1, sizeof *function);
    *function = (Function){.kind = FUNCTION, .number = facts->number, .module = module, .next = module->functions,
                           .name = strdup(name), .parameter_count = facts->count, .parameter_bytes = facts->bytes};
    function->parameters = calloc(facts->count + 1, sizeof *function->parameters);
    memcpy(function->parameters, facts->parameters, facts->count * sizeof *function->parameters);
    memcpy(function->attributes, facts->attributes, sizeof function->attributes);
    return module->functions = function;
}

static Result get_function(Function **function, Module *module, const char *name) {
    Answer answer;
    MUST_BE_READY();
    CHECK(IS(module, MODULE), INVALID_HANDLE);
    CHECK(function && name, INVALID_VALUE);
    uint32_t number = module->number;
    lock();
    Function *found = module->functions;
    while (found && strcmp(found->name, name) != 0) found = found->next;
    Result result = SUCCESS;
    if (!found) {
        result = ASK(FUNCTION_OF, &answer, VALUE(number), {name, strlen(name)});
        if (!result) found = make_function(module, name, &answer);
        free_answer(&answer);
    }
    if (!result) *function = found;
    unlock();
    return result;
}

static Result get_variable(Address *address, size_t *size, Module *module, const char *name) {
    struct { uint64_t address, size; } found;
    Answer answer;
    MUST_BE_READY();
    CHECK(IS(module, MODULE), INVALID_HANDLE);
    CHECK(name && (address || size), INVALID_VALUE);
    uint32_t number = module->number;
    lock();
    Result result = ASK(VARIABLE_OF, &answer, VALUE(number), {name, strlen(name)});
    if (!result) {
        memcpy(&found, answer.data, sizeof found);
        if (address) *address = found.address;
        if (size) *size = found.size;
    }
    unlock();
    return result;
}

/* The names of a module's kernels, one after the other, each with a zero behind it. */
static Result get_names(Module *module, Answer *answer) {
    MUST_BE_READY();
    CHECK(IS(module, MODULE), INVALID_HANDLE);
    uint32_t number = module->number;
    return ASK(NAMES, answer, VALUE(number));
}

static Result count_functions(unsigned *count, Module *module) {
    Answer answer;
    CHECK(count, INVALID_VALUE);
    Result result = get_names(module, &answer);
    *count = 0;
    for (uint32_t index = 0; !result && index < answer.size; index++) *count += answer.data[index] == 0;
    if (!result) free_answer(&answer);
    return result;
}

static Result list_functions(Function **functions, unsigned count, Module *module) {
    Answer answer;
    CHECK(functions, INVALID_VALUE);
    Result result = get_names(module, &answer);
    if (result) return result;
    const char *name = answer.data;
    for (unsigned index = 0; !result && index < count && name < answer.data + answer.size; index++) {
        result = get_function(&functions[index], module, name);
        name += strlen(name) + 1;
    }
    free_answer(&answer);
    return result;
}

EXPORTED Result cuModuleGetFunction(Function **function, Module *module, const char *name) { return get_function(function, module, name); }
EXPORTED Result cuModuleGetGlobal_v2(Address *address, size_t *size, Module *module, const char *name) { return get_variable(address, size, module, name); }
EXPORTED Result cuModuleGetFunctionCount(unsigned *count, Module *module) { return count_functions(count, module); }
EXPORTED Result cuModuleEnumerateFunctions(Function **functions, unsigned count, Module *module) { return list_functions(functions, count, module); }
EXPORTED Result cuLibraryGetKernel(Function **kernel, Module *library, const char *name) { return get_function(kernel, library, name); }
EXPORTED Result cuLibraryGetGlobal(Address *address, size_t *size, Module *library, const char *name) { return get_variable(address, size, library, name); }

EXPORTED Result cuLibraryGetManaged(Address *address, size_t *size, Module *library, const char *name) {
    Address variable = 0;
    Result result = get_variable(&variable, size, library, name);
    if (result || !address) return result;
    *address = variable;
    lock();
    result = map_variable(address);
    unlock();
    return result;
}

EXPORTED Result cuLibraryGetKernelCount(unsigned *count, Module *library) { return count_functions(count, library); }
EXPORTED Result cuLibraryEnumerateKernels(Function **kernels, unsigned count, Module *library) { return list_functions(kernels, count, library); }

#define FUNCTION_CALL(function, condition)                                                                            \
    MUST_BE_READY();                                                                                                  \
    CHECK(IS(function, FUNCTION), INVALID_HANDLE);                                                                    \
    CHECK(condition, INVALID_VALUE)

EXPORTED Result cuKernelGetFunction(Function **function, Function *kernel) { FUNCTION_CALL(kernel, function); *function = kernel; return SUCCESS; }
EXPORTED Result cuKernelGetLibrary(Module **library, Function *kernel) { FUNCTION_CALL(kernel, library); *library = kernel->module; return SUCCESS; }
EXPORTED Result cuFuncGetModule(Module **module, Function *function) { FUNCTION_CALL(function, module); *module = function->module; return SUCCESS; }
EXPORTED Result cuFuncGetName(const char **name, Function *function) { FUNCTION_CALL(function, name); *name = function->name; return SUCCESS; }
EXPORTED Result cuKernelGetName(const char **name, Function *kernel) { return cuFuncGetName(name, kernel); }
EXPORTED Result cuFuncIsLoaded(int *state, Function *function) { FUNCTION_CALL(function, state); *state = 1; return SUCCESS; }
EXPORTED Result cuFuncLoad(Function *function) { FUNCTION_CALL(function, true); return SUCCESS; }
EXPORTED Result cuFuncSetCacheConfig(Function *function, int config) { (void)config; FUNCTION_CALL(function, true); return SUCCESS; }
EXPORTED Result cuFuncSetSharedMemConfig(Function *function, int config) { (void)config; FUNCTION_CALL(function, true); return SUCCESS; }
EXPORTED Result cuKernelSetCacheConfig(Function *kernel, int config, Device device) { (void)device; return cuFuncSetCacheConfig(kernel, config); }

EXPORTED Result cuFuncGetParamInfo(Function *function, size_t index, size_t *offset, size_t *size) {
    FUNCTION_CALL(function, offset && index < function->parameter_count);
    *offset = function->parameters[index][0];
    if (size) *size = function->parameters[index][1];
    return SUCCESS;
}

EXPORTED Result cuKernelGetParamInfo(Function *kernel, size_t index, size_t *offset, size_t *size) { return cuFuncGetParamInfo(kernel, index, offset, size); }
EXPORTED Result cuFuncGetParamCount(Function *function, size_t *count) { FUNCTION_CALL(function, count); *count = function->parameter_count; return SUCCESS; }
EXPORTED Result cuKernelGetParamCount(Function *kernel, size_t *count) { return cuFuncGetParamCount(kernel, count); }

EXPORTED Result cuFuncGetAttribute(int *value, int attribute, Function *function) {
    FUNCTION_CALL(function, value && attribute >= 0 && attribute < ATTRIBUTES);
    *value = function->attributes[attribute];
    return SUCCESS;
}

EXPORTED Result cuFuncSetAttribute(Function *function, int attribute, int value) {
    FUNCTION_CALL(function, attribute >= MAX_DYNAMIC_SHARED && attribute < ATTRIBUTES);
    int most = greeting.attributes[97] - function->attributes[SHARED_BYTES_USED];
    CHECK(attribute != MAX_DYNAMIC_SHARED || (value >= 0 && value <= most), INVALID_VALUE);
    function->attributes[attribute] = value;
    return SUCCESS;
}

EXPORTED Result cuKernelGetAttribute(int *value, int attribute, Function *kernel, Device device) { (void)device; return cuFuncGetAttribute(value, attribute, kernel); }
EXPORTED Result cuKernelSetAttribute(int attribute, int value, Function *kernel, Device device) { (void)device; return cuFuncSetAttribute(kernel, attribute, value); }

/* --- launches -------------------------------------------------------------------------------------------------------- */

typedef struct {
    unsigned grid[3], block[3], shared;
    void *stream;
    const void *attributes;
    unsigned count;
} Config;

typedef struct {
    int id;
    char pad[4];
    unsigned char value[64];
} Attribute;

typedef struct LaunchRequest {
    uint32_t function, grid[3], block[3], shared, cluster[3], is_cooperative;
    uint64_t stream;
    uint32_t takes_large_clusters, unused;
} LaunchRequest;

static Result gather(Function *function, void **parameters, void **extra, unsigned char *packed, size_t *size) {
    *size = function->parameter_bytes;
    if (extra) {
        const void *given = NULL;
        size_t bytes = 0;
        for (; *extra; extra += 2) {
            if (*extra == (void *)1) given = extra[1];
            else if (*extra == (void *)2) bytes = *(size_t *)extra[1];
            else return INVALID_VALUE;
        }
        CHECK(bytes <= *size && (given || !bytes), INVALID_VALUE);
        memset(packed, 0, *size);
        if (bytes) memcpy(packed, given, bytes);
        return SUCCESS;
    }
    CHECK(parameters || !function->parameter_count, INVALID_VALUE);
    memset(packed, 0, *size);
    for (uint32_t index = 0; index < function->parameter_count; index++)
        memcpy(packed + function->parameters[index][0], parameters[index], function->parameters[index][1]);
    return SUCCESS;
}

typedef struct {
    Function *function;
    LaunchRequest request;
    size_t size;
    unsigned char packed[];
} Launch;

/* As on a GPU, a kernel that fails does so at a later call, and ends all use of the device. */
static Result take_fault(Result result) {
    bool is_fault = result == ILLEGAL_ADDRESS || result == 702 || result == 710 || (result >= 714 && result <= 719);
    if (!is_fault) return result;
    fail_for_good(result);
    return SUCCESS;
}

static bool is_accepted(const Function *function, const LaunchRequest *request) {
    return function->accepted && memcmp(function->accepted, request, sizeof *request) == 0;
}

static void accept_launch(Function *function, const LaunchRequest *request) {
    if (is_accepted(function, request)) return;
    if (!function->accepted) function->accepted = malloc(sizeof *request);
    if (function->accepted) *function->accepted = *request;
}

/* Whether a launch need not be waited for: nothing shows that it has not ended until the next call. */
static bool can_be_posted(const Launch *launch, const Order *order) {
    static int is_checked = -1;
    if (is_checked < 0) {
        const char *checks = setting("GPUREGRESS_EXEC_CHECKS");
        is_checked = checks && *checks;
    }
    return !order && !is_checked && !sees_device_memory() && is_accepted(launch->function, &launch->request);
}

static Result run(void *task, const Order *order) {
    const Launch *launch = task;
    const Piece pieces[] = {VALUE(launch->request), {launch->packed, launch->size}};
    if (can_be_posted(launch, order)) return post(POSTED_LAUNCH, pieces, 2);
    lock();
    Result result = ready();
    if (!result) {
        tell_order(order, "", NULL, 0);
        begin_launch_on_registered();
        result = ask(LAUNCH, pieces, 2, NULL);
        end_launch_on_registered();
        if (!result) accept_launch(launch->function, &launch->request);
        result = take_fault(result);
    }
    unlock();
    return result;
}

static Result launch_deferred(void *data, Stream *stream) {
    Launch *task = data;
    CHECK(IS(task->function, FUNCTION), INVALID_HANDLE);
    task->request.stream = stream->id;
    note_launch();
    return submit(stream, run, task, sizeof *task + task->size, false);
}

/* The error of a launch that comes later, in a queue or with a graph, and that a GPU refuses: the call itself returns it. */
static Result check_deferred(Function *function, const LaunchRequest *request) {
    CHECK((int64_t)request->shared <= function->attributes[MAX_DYNAMIC_SHARED], INVALID_VALUE);
    if (is_accepted(function, request)) return SUCCESS;
    MUST_BE_READY();
    Result result = ASK(CHECK_LAUNCH, NULL, VALUE(*request));
    if (!result) accept_launch(function, request);
    return result;
}

static Result launch(Function *function, LaunchRequest *request, void *stream, void **parameters, void **extra) {
    CHECK(is_initialized(), NOT_INITIALIZED);
    CHECK(current_context(), INVALID_CONTEXT);
    CHECK(IS(function, FUNCTION), INVALID_HANDLE);
    Stream *real = real_stream(stream);
    CHECK(real, INVALID_HANDLE);
    request->stream = real->id;
    request->function = function->number;
    request->takes_large_clusters = function->attributes[NON_PORTABLE_CLUSTER] != 0;
    size_t bytes = sizeof(Launch) + function->parameter_bytes;
    Launch *task = __builtin_alloca(bytes);
    task->function = function;
    task->request = *request;
    Result result = gather(function, parameters, extra, task->packed, &task->size);
    if (result) return result;
    if (is_capturing(real)) {
        result = check_deferred(function, request);
        if (!result) return record_call(real, KERNEL_NODE, launch_deferred, task, sizeof *task + task->size);
        check_captures(real, SAFE); /* which ends the capture */
        return take_fault(result);
    }
    result = check_captures(real, SAFE);
    if (result) return result;
    if (keeps_work_back()) result = check_deferred(function, request);
    else CHECK((int64_t)request->shared <= function->attributes[MAX_DYNAMIC_SHARED], INVALID_VALUE);
    if (result) return take_fault(result);
    note_launch();
    return submit(real, run, task, bytes, false);
}

EXPORTED Result cuLaunchKernel(Function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                               unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra) {
    LaunchRequest request = {0, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, {0}, 0, 0};
    return launch(function, &request, stream, parameters, extra);
}

EXPORTED Result cuLaunchCooperativeKernel(Function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                          unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters) {
    LaunchRequest request = {0, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, {0}, 1, 0};
    return launch(function, &request, stream, parameters, NULL);
}

EXPORTED Result cuLaunchKernelEx(const Config *config, Function *function, void **parameters, void **extra) {
    CHECK(config && (config->attributes || !config->count), INVALID_VALUE);
    LaunchRequest request = {0, {config->grid[0], config->grid[1], config->grid[2]},
                             {config->block[0], config->block[1], config->block[2]}, config->shared, {0}, 0, 0};
    const Attribute *attributes = config->attributes;
    for (unsigned index = 0; index < config->count; index++) {
        if (attributes[index].id == 2) memcpy(&request.is_cooperative, attributes[index].value, 4);
        if (attributes[index].id == 4) memcpy(request.cluster, attributes[index].value, sizeof request.cluster);
        if (attributes[index].id == 13) return missing("launch attribute: update of a graph's node from the device");
    }
    return launch(function, &request, config->stream, parameters, extra);
}

/* --- launches before CUDA 4 ------------------------------------------------------------------------------------------ */

EXPORTED Result cuFuncSetBlockShape(Function *function, int x, int y, int z) {
    FUNCTION_CALL(function, x > 0 && y > 0 && z > 0);
    function->block[0] = (unsigned)x, function->block[1] = (unsigned)y, function->block[2] = (unsigned)z;
    return SUCCESS;
}

EXPORTED Result cuFuncSetSharedSize(Function *function, unsigned size) { FUNCTION_CALL(function, true); function->shared = size; return SUCCESS; }
EXPORTED Result cuParamSetSize(Function *function, unsigned size) { FUNCTION_CALL(function, size <= 32764); function->argument_bytes = size; return SUCCESS; }

EXPORTED Result cuParamSetv(Function *function, int offset, const void *data, unsigned size) {
    FUNCTION_CALL(function, offset >= 0 && data && (unsigned)offset + size <= 32764);
    if (!function->arguments) function->arguments = calloc(1, 32768);
    memcpy(function->arguments + offset, data, size);
    return SUCCESS;
}

EXPORTED Result cuParamSeti(Function *function, int offset, unsigned value) { return cuParamSetv(function, offset, &value, sizeof value); }
EXPORTED Result cuParamSetf(Function *function, int offset, float value) { return cuParamSetv(function, offset, &value, sizeof value); }

EXPORTED Result cuLaunchGridAsync(Function *function, int width, int height, void *stream) {
    FUNCTION_CALL(function, width > 0 && height > 0);
    size_t size = function->argument_bytes;
    void *extra[] = {(void *)1, function->arguments, (void *)2, &size, NULL};
    LaunchRequest request = {0, {(unsigned)width, (unsigned)height, 1}, {function->block[0], function->block[1], function->block[2]},
                             function->shared, {0}, 0, 0};
    return launch(function, &request, stream, NULL, extra);
}

EXPORTED Result cuLaunchGrid(Function *function, int width, int height) { return cuLaunchGridAsync(function, width, height, NULL); }
EXPORTED Result cuLaunch(Function *function) { return cuLaunchGridAsync(function, 1, 1, NULL); }

/* --- occupancy ------------------------------------------------------------------------------------------------------- */

static Result resident(int *blocks, Function *function, int threads, size_t shared) {
    struct { uint32_t function, threads; uint64_t shared; } request;
    Answer answer;
    FUNCTION_CALL(function, blocks && threads > 0);
    request.function = function->number, request.threads = (uint32_t)threads, request.shared = shared;
    Result result = ASK(OCCUPANCY, &answer, VALUE(request));
    if (!result) memcpy(blocks, answer.data, sizeof *blocks);
    return result;
}

EXPORTED Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function *function, int threads, size_t shared) {
    return resident(blocks, function, threads, shared);
}
EXPORTED Result cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, Function *function, int threads, size_t shared, unsigned flags) {
    CHECK(flags <= 1, INVALID_VALUE);
    return resident(blocks, function, threads, shared);
}

EXPORTED Result cuOccupancyMaxPotentialBlockSize(int *least_grid, int *block, Function *function, size_t (*shared_of)(int), size_t shared, int limit) {
    int warp = greeting.attributes[10], best = 0, blocks;
    FUNCTION_CALL(function, least_grid && block);
    int most = function->attributes[MAX_THREADS];
    if (limit > 0 && limit < most) most = limit;
    for (int threads = (most + warp - 1) / warp * warp; threads > 0; threads -= warp) {
        int size = threads < most ? threads : most;
        Result result = resident(&blocks, function, size, shared_of ? shared_of(size) : shared);
        if (result) return result;
        if (blocks * size > best) best = blocks * size, *block = size, *least_grid = blocks * greeting.attributes[16];
    }
    return best ? SUCCESS : INVALID_VALUE;
}

EXPORTED Result cuOccupancyMaxPotentialBlockSizeWithFlags(
    int *least_grid, int *block, Function *function, size_t (*shared_of)(int), size_t shared, int limit, unsigned flags) {
    CHECK(flags <= 1, INVALID_VALUE);
    return cuOccupancyMaxPotentialBlockSize(least_grid, block, function, shared_of, shared, limit);
}

EXPORTED Result cuOccupancyAvailableDynamicSMemPerBlock(size_t *shared, Function *function, int blocks, int threads) {
    int fitting;
    FUNCTION_CALL(function, shared && blocks > 0 && threads > 0);
    Result result = resident(&fitting, function, threads, 0);
    if (result) return result;
    CHECK(blocks <= fitting, INVALID_VALUE);
    int each = greeting.attributes[81] / blocks / 128 * 128 - greeting.attributes[111] - function->attributes[SHARED_BYTES_USED];
    int most = greeting.attributes[97] - function->attributes[SHARED_BYTES_USED];
    *shared = (size_t)(each < most ? each : most);
    return SUCCESS;
}

EXPORTED Result cuOccupancyMaxPotentialClusterSize(int *size, Function *function, const Config *config) {
    FUNCTION_CALL(function, size && config);
    *size = function->attributes[NON_PORTABLE_CLUSTER] ? 16 : 8;
    return SUCCESS;
}

EXPORTED Result cuOccupancyMaxActiveClusters(int *clusters, Function *function, const Config *config) {
    int blocks, size = 1;
    FUNCTION_CALL(function, clusters && config);
    const Attribute *attributes = config->attributes;
    for (unsigned index = 0; index < config->count; index++) {
        unsigned extent[3];
        memcpy(extent, attributes[index].value, sizeof extent);
        if (attributes[index].id == 4) size = (int)(extent[0] * extent[1] * extent[2]);
    }
    Result result = resident(&blocks, function, (int)(config->block[0] * config->block[1] * config->block[2]), config->shared);
    if (!result) *clusters = blocks * greeting.attributes[16] / (size ? size : 1);
    return result;
}

/* --- linker: the server puts the PTX of an image together ----------------------------------------------------------------------------- */

typedef struct {
    uint32_t kind;
    char *image;
    size_t size;
} Linker;

EXPORTED Result cuLinkCreate_v2(unsigned count, int *options, void **values, Linker **linker) {
    (void)count, (void)options, (void)values;
    MUST_BE_READY();
    CHECK(linker, INVALID_VALUE);
    *linker = calloc(1, sizeof **linker);
    CHECK(*linker, OUT_OF_MEMORY);
    **linker = (Linker){LINK, calloc(1, sizeof(ImageHead)), sizeof(ImageHead)};
    return SUCCESS;
}

static Result add_part(Linker *linker, const void *data, uint64_t size) {
    char *image = realloc(linker->image, linker->size + sizeof size + size);
    CHECK(image, OUT_OF_MEMORY);
    memcpy(image + linker->size, &size, sizeof size);
    memcpy(image + linker->size + sizeof size, data, size);
    linker->image = image;
    linker->size += sizeof size + size;
    return SUCCESS;
}

EXPORTED Result cuLinkAddData_v2(Linker *linker, int type, void *data, size_t size, const char *name, unsigned count, int *options, void **values) {
    enum { OF_PTX = 1, OF_FATBIN };
    (void)name, (void)count, (void)options, (void)values;
    MUST_BE_READY();
    CHECK(IS(linker, LINK) && data, INVALID_VALUE);
    if (type == OF_PTX) return add_part(linker, data, strnlen(data, size));
    if (type == OF_FATBIN) return add_part(linker, data, size);
    missing("cuLinkAddData of anything but PTX: let the compiler make PTX (nvcc -ptx; NVRTC: --gpu-architecture=compute_90)");
    return NO_BINARY_FOR_GPU;
}

EXPORTED Result cuLinkAddFile_v2(Linker *linker, int type, const char *path, unsigned count, int *options, void **values) {
    MUST_BE_READY();
    CHECK(path, INVALID_VALUE);
    FILE *file = fopen(path, "rb");
    CHECK(file, FILE_NOT_FOUND);
    size_t size;
    char *text = read_all(file, &size);
    CHECK(text, OUT_OF_MEMORY);
    Result result = cuLinkAddData_v2(linker, type, text, size, path, count, options, values);
    free(text);
    return result;
}

EXPORTED Result cuLinkComplete(Linker *linker, void **image, size_t *size) {
    MUST_BE_READY();
    CHECK(IS(linker, LINK) && image && linker->size > sizeof(ImageHead), INVALID_VALUE);
    ImageHead head = {LINKED_MAGIC, 1, sizeof head, linker->size - sizeof head};
    memcpy(linker->image, &head, sizeof head);
    *image = linker->image;
    if (size) *size = linker->size;
    return SUCCESS;
}

EXPORTED Result cuLinkDestroy(Linker *linker) {
    CHECK(IS(linker, LINK), INVALID_VALUE);
    linker->kind = 0;
    free(linker->image);
    linker->image = NULL;
    return SUCCESS;
}
