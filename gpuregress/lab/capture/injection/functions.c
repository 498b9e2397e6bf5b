/* Functions of the driver, with the kernels and images behind them. */
#define _GNU_SOURCE
#include "library.h"

#include <stdlib.h>
#include <string.h>

enum { TABLE = 1 << 14 };

static Function *functions[TABLE]; /* by handle, open addressing */
static Kernel *kernels;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

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

Function *function_of(Handle handle, const char *symbol)
{
    size_t at = ((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15u >> 50;
    for (unsigned tried = 0; tried < TABLE; tried++, at = (at + 1) % TABLE) {
        Function *function = __atomic_load_n(&functions[at], __ATOMIC_ACQUIRE);
        if (function && function->handle == handle)
            return function;
        if (function)
            continue;
        pthread_mutex_lock(&lock);
        if (functions[at]) { /* another thread was faster */
            pthread_mutex_unlock(&lock);
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
        pthread_mutex_unlock(&lock);
        return function;
    }
    return NULL;
}

/* Handles are invalid: they may be given out again. What they pointed to is kept, as a launch may be using it. */
void forget_functions(void)
{
    pthread_mutex_lock(&lock);
    memset(functions, 0, sizeof functions);
    pthread_mutex_unlock(&lock);
}
