/* Registration of programs, kernels and variables: what the host code that nvcc generates calls before main.
 *
 * A program is loaded at its first use, as the CUDA runtime does, so that a process that uses none starts no device.
 */
#include <pthread.h>
#include <search.h>
#include <stdlib.h>

#include "runtime.h"

/* What nvcc puts around a fat binary (fatbinary_section.h). */
typedef struct {
    int magic, version;
    const void *data;
    void *file_name_or_parts; /* version 2: the fat binaries that are to be linked, NULL at the end */
} FatBinaryWrapper;

/* How a fat binary begins. */
typedef struct {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* after the header */
} FatBinaryHeader;

typedef struct Symbol Symbol;

typedef struct {
    const FatBinaryWrapper *wrapper;
    CUlibrary library; /* NULL: not loaded */
    Symbol *symbols;
} Program;

/* A kernel or variable that host code names by an address of its own. */
struct Symbol {
    const void *host;
    const char *name;
    Program *program;
    CUkernel kernel; /* NULL: a variable, or not loaded */
    bool is_kernel;
    void **managed; /* where host code reads the address of a managed variable; NULL: not managed */
    Symbol *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *symbols_by_address;
static Program **programs;
static size_t program_count;
static bool is_exiting;

static int compare_symbols(const void *left, const void *right)
{
    uintptr_t first = (uintptr_t)((const Symbol *)left)->host;
    uintptr_t second = (uintptr_t)((const Symbol *)right)->host;
    return (first > second) - (first < second);
}

static Symbol *find_symbol(const void *host)
{
    Symbol key = {.host = host};
    void *node = tfind(&key, &symbols_by_address, compare_symbols);
    return node ? *(Symbol **)node : NULL;
}

static void add_symbol(Symbol symbol)
{
    Symbol *copy = malloc(sizeof *copy);
    *copy = symbol;
    pthread_mutex_lock(&mutex);
    Symbol **node = tsearch(copy, &symbols_by_address, compare_symbols);
    *node = copy; /* a library that was loaded at the place of an unloaded one replaces its symbols */
    if (symbol.program) {
        copy->next = symbol.program->symbols;
        symbol.program->symbols = copy;
    }
    pthread_mutex_unlock(&mutex);
}

static cudaError_t load_image(Program *program, const void *image)
{
    return (cudaError_t)cuLibraryLoadData(&program->library, image, NULL, NULL, 0, NULL, NULL, 0);
}

/* Link and load the parts of a program that was compiled with -rdc=true. */
static cudaError_t link_and_load(Program *program, void **parts)
{
    enum { INPUT_FATBINARY = 2 };
    void *link, *image;
    size_t bytes;
    CUresult code = cuLinkCreate_v2(0, NULL, NULL, &link);
    if (code != 0)
        return (cudaError_t)code;
    for (; *parts && code == 0; parts++) {
        FatBinaryHeader *header = *parts;
        code = cuLinkAddData_v2(link, INPUT_FATBINARY, header, header->header_bytes + header->bytes, NULL, 0, NULL, NULL);
    }
    if (code == 0)
        code = cuLinkComplete(link, &image, &bytes);
    cudaError_t result = code == 0 ? load_image(program, image) : (cudaError_t)code;
    cuLinkDestroy(link);
    return result;
}

static void unload_program(Program *program)
{
    if (!program->library)
        return;
    cuLibraryUnload(program->library);
    program->library = NULL;
    for (Symbol *symbol = program->symbols; symbol; symbol = symbol->next)
        symbol->kernel = NULL;
}

static void note_exit(void)
{
    is_exiting = true;
}

/* Load a program, and tell the host code where its managed variables are. The mutex is held. */
static cudaError_t load_program(Program *program)
{
    enum { LINKED_VERSION = 2 };
    void **parts = program->wrapper->version == LINKED_VERSION ? program->wrapper->file_name_or_parts : NULL;
    cudaError_t code;
    if (program->library)
        return cudaSuccess;
    if (parts && parts[0] && parts[1])
        code = link_and_load(program, parts);
    else
        code = load_image(program, parts && parts[0] ? parts[0] : (const void *)program->wrapper);
    if (code != cudaSuccess)
        return code;
    for (Symbol *symbol = program->symbols; symbol && code == cudaSuccess; symbol = symbol->next) {
        size_t bytes;
        if (symbol->managed)
            code = (cudaError_t)cuLibraryGetManaged((CUdeviceptr *)symbol->managed, &bytes, program->library,
                                                    symbol->name);
    }
    if (code != cudaSuccess)
        unload_program(program); /* the next use tries again */
    else
        atexit(note_exit); /* called before what unregisters this program, which was there earlier */
    return code;
}

/* The symbol of an address, its program loaded and its kernel looked up. The mutex is held. */
static cudaError_t load_symbol(const void *host, bool is_kernel, Symbol **symbol)
{
    cudaError_t code = use_device();
    cudaError_t missing = is_kernel ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidSymbol;
    if (code != cudaSuccess)
        return code;
    *symbol = find_symbol(host);
    if (!*symbol || (*symbol)->is_kernel != is_kernel)
        return missing;
    if ((*symbol)->program)
        code = load_program((*symbol)->program);
    if (code == cudaSuccess && is_kernel && !(*symbol)->kernel)
        if (cuLibraryGetKernel(&(*symbol)->kernel, (*symbol)->program->library, (*symbol)->name) != cudaSuccess)
            return missing;
    return code;
}

cudaError_t find_function(const void *host, CUfunction *function)
{
    Symbol *symbol;
    pthread_mutex_lock(&mutex);
    cudaError_t code = load_symbol(host, true, &symbol);
    if (code == cudaSuccess)
        code = (cudaError_t)cuKernelGetFunction(function, symbol->kernel);
    pthread_mutex_unlock(&mutex);
    return code;
}

cudaError_t find_variable(const void *host, CUdeviceptr *address, size_t *bytes)
{
    Symbol *symbol;
    pthread_mutex_lock(&mutex);
    cudaError_t code = load_symbol(host, false, &symbol);
    if (code == cudaSuccess && symbol->managed)
        code = (cudaError_t)cuLibraryGetManaged(address, bytes, symbol->program->library, symbol->name);
    else if (code == cudaSuccess)
        code = (cudaError_t)cuLibraryGetGlobal(address, bytes, symbol->program->library, symbol->name);
    pthread_mutex_unlock(&mutex);
    return code == cudaErrorSymbolNotFound ? cudaErrorInvalidSymbol : code;
}

void unload_programs(void)
{
    pthread_mutex_lock(&mutex);
    for (size_t index = 0; index < program_count; index++)
        unload_program(programs[index]);
    pthread_mutex_unlock(&mutex);
}

void **__cudaRegisterFatBinary(void *wrapper)
{
    Program *program = calloc(1, sizeof *program);
    program->wrapper = wrapper;
    pthread_mutex_lock(&mutex);
    programs = realloc(programs, (program_count + 1) * sizeof *programs);
    programs[program_count++] = program;
    pthread_mutex_unlock(&mutex);
    return (void **)program;
}

void __cudaRegisterFatBinaryEnd(void **program)
{
    (void)program;
}

/* Called by dlclose and at the end of the process. The server frees what the driver holds at the end of the process,
 * which need not wait for a kernel that another thread runs. */
void __cudaUnregisterFatBinary(void **handle)
{
    Program *program = (Program *)handle;
    pthread_mutex_lock(&mutex);
    for (size_t index = 0; index < program_count; index++)
        if (programs[index] == program)
            programs[index] = programs[--program_count];
    if (program->library && !is_exiting && use_device() == cudaSuccess)
        unload_program(program);
    while (program->symbols) {
        Symbol *symbol = program->symbols;
        program->symbols = symbol->next;
        if (find_symbol(symbol->host) == symbol)
            tdelete(symbol, &symbols_by_address, compare_symbols);
        free(symbol);
    }
    free(program);
    pthread_mutex_unlock(&mutex);
}

void __cudaRegisterFunction(void **program, const char *host, char *device, const char *name, int thread_limit,
                            void *thread, void *block, dim3 *block_size, dim3 *grid_size, int *warp_size)
{
    (void)device, (void)thread_limit, (void)thread, (void)block, (void)block_size, (void)grid_size, (void)warp_size;
    add_symbol((Symbol){.host = host, .name = name, .program = (Program *)program, .is_kernel = true});
}

void __cudaRegisterVar(void **program, char *host, char *device, const char *name, int external, size_t size,
                       int constant, int global)
{
    (void)device, (void)external, (void)size, (void)constant, (void)global;
    add_symbol((Symbol){.host = host, .name = name, .program = (Program *)program});
}

void __cudaRegisterManagedVar(void **program, void **host, char *device, const char *name, int external, size_t size,
                              int constant, int global)
{
    (void)device, (void)external, (void)size, (void)constant, (void)global;
    add_symbol((Symbol){.host = host, .name = name, .program = (Program *)program, .managed = host});
}

/* Called before host code first touches a managed variable of this program. */
char __cudaInitModule(void **program)
{
    cudaError_t code = use_device();
    pthread_mutex_lock(&mutex);
    if (code == cudaSuccess)
        code = load_program((Program *)program);
    pthread_mutex_unlock(&mutex);
    return record_error(code) == cudaSuccess;
}

/* Handle of a kernel for __cudaLaunchKernel: the stub's own address, since nvcc's code asks once and keeps it, also
 * over cudaDeviceReset and where the program could not be loaded yet. */
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
    *kernel = (cudaKernel_t)host;
    return cudaSuccess;
}

cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
    Symbol *symbol;
    pthread_mutex_lock(&mutex);
    cudaError_t code = load_symbol(host, true, &symbol);
    pthread_mutex_unlock(&mutex);
    if (code != cudaSuccess)
        return record_error(code);
    *kernel = symbol->kernel;
    if (*kernel != host)
        add_symbol((Symbol){.host = *kernel, .kernel = *kernel, .is_kernel = true});
    return cudaSuccess;
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *host)
{
    return record_error(find_function(host, function));
}

cudaError_t cudaGetSymbolAddress(void **address, const void *symbol)
{
    size_t bytes;
    return record_error(find_variable(symbol, (CUdeviceptr *)address, &bytes));
}

cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
    CUdeviceptr address;
    return record_error(find_variable(symbol, &address, bytes));
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, void *options, void **values, unsigned count,
                                void *library_options, void **library_values, unsigned library_count)
{
    return ON_DEVICE(cuLibraryLoadData(library, code, options, values, count, library_options, library_values,
                                       library_count));
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *file, void *options, void **values,
                                    unsigned count, void *library_options, void **library_values,
                                    unsigned library_count)
{
    return ON_DEVICE(cuLibraryLoadFromFile(library, file, options, values, count, library_options, library_values,
                                           library_count));
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    return ON_DEVICE(cuLibraryUnload(library));
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
    cudaError_t code = ON_DEVICE(cuLibraryGetKernel(kernel, library, name));
    if (code == cudaSuccess)
        add_symbol((Symbol){.host = *kernel, .kernel = *kernel, .is_kernel = true});
    return code;
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned count, cudaLibrary_t library)
{
    unsigned available = 0;
    cudaError_t code = ON_DEVICE(cuLibraryGetKernelCount(&available, library));
    if (code == cudaSuccess)
        code = ON_DEVICE(cuLibraryEnumerateKernels(kernels, count, library));
    for (unsigned index = 0; code == cudaSuccess && index < count && index < available; index++)
        add_symbol((Symbol){.host = kernels[index], .kernel = kernels[index], .is_kernel = true});
    return code;
}

cudaError_t cudaLibraryGetKernelCount(unsigned *count, cudaLibrary_t library)
{
    return ON_DEVICE(cuLibraryGetKernelCount(count, library));
}

cudaError_t cudaLibraryGetGlobal(void **address, size_t *bytes, cudaLibrary_t library, const char *name)
{
    return ON_DEVICE(cuLibraryGetGlobal((CUdeviceptr *)address, bytes, library, name));
}

cudaError_t cudaLibraryGetManaged(void **address, size_t *bytes, cudaLibrary_t library, const char *name)
{
    return ON_DEVICE(cuLibraryGetManaged((CUdeviceptr *)address, bytes, library, name));
}

cudaError_t cudaLibraryGetUnifiedFunction(void **function, cudaLibrary_t library, const char *name)
{
    return ON_DEVICE(cuLibraryGetUnifiedFunction(function, library, name));
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, int attribute, int value, int device)
{
    return ON_DEVICE(cuKernelSetAttribute(attribute, value, kernel, device));
}
