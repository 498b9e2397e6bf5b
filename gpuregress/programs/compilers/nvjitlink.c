/* Stand-in for nvJitLink: what programs take for machine code is PTX.
 *
 * LTO-IR is linked by NVIDIA's nvJitLink with -lto -ptx. PTX that is given stays as it is, behind it: the virtual GPU
 * puts the modules of one image together.
 */
#define _GNU_SOURCE
#include "real_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libnvJitLink.so.13"

enum { SUCCESS, UNRECOGNIZED_OPTION, MISSING_ARCH, INVALID_INPUT, PTX_COMPILE, INTERNAL = 6, UNSUPPORTED = 9 };
enum { CUBIN = 1, PTX, LTOIR, FATBIN, OBJECT, ARCHIVE, INDEX, ANY = 10 };

typedef struct {
    void *real;
    int has_ir, is_ptx_wanted, is_complete, count;
    char **options;
    char *text;
    size_t size;
    char log[256];
} Linker;

typedef int (*Call1)(void *);
typedef int (*Call2)(void *, void *);
typedef int (*Create)(void **, unsigned, const char **);
typedef int (*AddData)(void *, int, const void *, size_t, const char *);

static void *real(const char *name) { return real_function(LIBRARY, name); }

EXPORTED int nvJitLinkVersion(unsigned *major, unsigned *minor) {
    Call2 call = (Call2)real("nvJitLinkVersion");
    return call ? call(major, minor) : INTERNAL;
}

EXPORTED int nvJitLinkCreate(Linker **linker, unsigned count, const char **options) {
    Linker *made = calloc(1, sizeof *made);
    made->options = calloc(count + 3, sizeof *made->options);
    int has_lto = 0;
    for (unsigned index = 0; index < count; index++) {
        if (strcmp(options[index], "-ptx") == 0) made->is_ptx_wanted = 1;
        if (strcmp(options[index], "-lto") == 0) has_lto = 1;
        made->options[made->count++] = strdup(options[index]);
    }
    if (!has_lto) made->options[made->count++] = strdup("-lto");
    if (!made->is_ptx_wanted) made->options[made->count++] = strdup("-ptx");
    *linker = made;
    return SUCCESS;
}

EXPORTED int nvJitLinkDestroy(Linker **linker) {
    Call1 destroy = (Call1)real("nvJitLinkDestroy");
    if ((*linker)->real && destroy) destroy(&(*linker)->real);
    for (int index = 0; index < (*linker)->count; index++) free((*linker)->options[index]);
    free((*linker)->options);
    free((*linker)->text);
    free(*linker);
    *linker = NULL;
    return SUCCESS;
}

static void add_text(Linker *linker, const char *text, size_t size) {
    size = strnlen(text, size);
    linker->text = realloc(linker->text, linker->size + size + 2);
    memcpy(linker->text + linker->size, text, size);
    linker->size += size;
    memcpy(linker->text + linker->size, "\n", 2);
    linker->size++;
}

static int real_linker(Linker *linker) {
    Create create = (Create)real("nvJitLinkCreate");
    if (linker->real) return SUCCESS;
    return create ? create(&linker->real, (unsigned)linker->count, (const char **)linker->options) : INTERNAL;
}

static int is_ptx(const char *data, size_t size) { return memmem(data, size, ".version", 8) != NULL && data[0] != 0x7f; }

EXPORTED int nvJitLinkAddData(Linker *linker, int type, const void *data, size_t size, const char *name) {
    if (type == PTX || (type == ANY && is_ptx(data, size))) {
        add_text(linker, data, size);
        return SUCCESS;
    }
    /* Of the device runtime the virtual GPU has the functions itself. */
    if ((type == ARCHIVE || type == ANY) && memmem(data, size, "cuda_device_runtime", 19)) return SUCCESS;
    if (type == CUBIN || type == OBJECT) {
        snprintf(linker->log, sizeof linker->log,
                 "%.80s holds machine code, which the virtual GPU cannot run: give PTX or LTO-IR", name ? name : "an input");
        fprintf(stderr, "gpuregress: %s\n", linker->log);
        return UNSUPPORTED;
    }
    AddData add = (AddData)real("nvJitLinkAddData");
    int result = add ? real_linker(linker) : INTERNAL;
    if (!result) result = add(linker->real, type, data, size, name);
    if (!result) linker->has_ir = 1;
    return result;
}

EXPORTED int nvJitLinkAddFile(Linker *linker, int type, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return INVALID_INPUT;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *data = calloc(1, (size_t)size + 1);
    size = (long)fread(data, 1, (size_t)size, file);
    fclose(file);
    int result = nvJitLinkAddData(linker, type, data, (size_t)size, path);
    free(data);
    return result;
}

EXPORTED int nvJitLinkComplete(Linker *linker) {
    Call1 complete = (Call1)real("nvJitLinkComplete");
    Call2 size_of = (Call2)real("nvJitLinkGetLinkedPtxSize"), get = (Call2)real("nvJitLinkGetLinkedPtx");
    size_t size = 0;
    if (!linker->has_ir) {
        linker->is_complete = linker->size > 0;
        return linker->is_complete ? SUCCESS : INVALID_INPUT;
    }
    if (!complete || !size_of || !get) return INTERNAL;
    int result = complete(linker->real);
    if (!result) result = size_of(linker->real, &size);
    if (result) return result;
    char *text = calloc(1, size + linker->size + 2);
    result = text ? get(linker->real, text) : INTERNAL;
    if (result) {
        free(text);
        return result;
    }
    size = strlen(text);
    text[size++] = '\n';
    if (linker->text) memcpy(text + size, linker->text, linker->size);
    free(linker->text);
    linker->text = text;
    linker->size += size;
    linker->is_complete = 1;
    return SUCCESS;
}

static int get_size(Linker *linker, size_t *size) {
    if (!linker->is_complete) return INVALID_INPUT;
    *size = linker->size + 1;
    return SUCCESS;
}

static int get_text(Linker *linker, char *text) {
    if (!linker->is_complete) return INVALID_INPUT;
    memcpy(text, linker->text, linker->size + 1);
    return SUCCESS;
}

EXPORTED int nvJitLinkGetLinkedCubinSize(Linker *linker, size_t *size) { return get_size(linker, size); }
EXPORTED int nvJitLinkGetLinkedCubin(Linker *linker, char *cubin) { return get_text(linker, cubin); }
EXPORTED int nvJitLinkGetLinkedPtxSize(Linker *linker, size_t *size) { return get_size(linker, size); }
EXPORTED int nvJitLinkGetLinkedPtx(Linker *linker, char *ptx) { return get_text(linker, ptx); }
EXPORTED int nvJitLinkGetLinkedLTOIRSize(Linker *linker, size_t *size) { (void)linker, (void)size; return UNSUPPORTED; }
EXPORTED int nvJitLinkGetLinkedLTOIR(Linker *linker, char *ir) { (void)linker, (void)ir; return UNSUPPORTED; }

static int log_size(Linker *linker, size_t *size, const char *name) {
    Call2 call = (Call2)(linker->real ? real(name) : NULL);
    if (call) return call(linker->real, size);
    *size = strlen(linker->log) + 1;
    return SUCCESS;
}

static int log_text(Linker *linker, char *log, const char *name) {
    Call2 call = (Call2)(linker->real ? real(name) : NULL);
    if (call) return call(linker->real, log);
    strcpy(log, linker->log);
    return SUCCESS;
}

EXPORTED int nvJitLinkGetErrorLogSize(Linker *linker, size_t *size) { return log_size(linker, size, "nvJitLinkGetErrorLogSize"); }
EXPORTED int nvJitLinkGetErrorLog(Linker *linker, char *log) { return log_text(linker, log, "nvJitLinkGetErrorLog"); }
EXPORTED int nvJitLinkGetInfoLogSize(Linker *linker, size_t *size) { return log_size(linker, size, "nvJitLinkGetInfoLogSize"); }
EXPORTED int nvJitLinkGetInfoLog(Linker *linker, char *log) { return log_text(linker, log, "nvJitLinkGetInfoLog"); }

/* nvJitLink.h calls each function by the version of the toolkit that the program was built with. */
#if defined(__x86_64__)
#define JUMP(from, to) __asm__(".text\n.globl " #from "\n.type " #from ", %function\n" #from ": jmp " #to "@PLT\n");
#else
#define JUMP(from, to) __asm__(".text\n.globl " #from "\n.type " #from ", %function\n" #from ": b " #to "\n");
#endif
#define VERSION(name, minor) JUMP(__##name##_13_##minor, name)
#define VERSIONS(name)                                                                                                \
    VERSION(name, 0) VERSION(name, 1) VERSION(name, 2) VERSION(name, 3) VERSION(name, 4) VERSION(name, 5)             \
    VERSION(name, 6) VERSION(name, 7) VERSION(name, 8) VERSION(name, 9)

VERSIONS(nvJitLinkCreate)
VERSIONS(nvJitLinkDestroy)
VERSIONS(nvJitLinkAddData)
VERSIONS(nvJitLinkAddFile)
VERSIONS(nvJitLinkComplete)
VERSIONS(nvJitLinkGetLinkedCubinSize)
VERSIONS(nvJitLinkGetLinkedCubin)
VERSIONS(nvJitLinkGetLinkedPtxSize)
VERSIONS(nvJitLinkGetLinkedPtx)
VERSIONS(nvJitLinkGetLinkedLTOIRSize)
VERSIONS(nvJitLinkGetLinkedLTOIR)
VERSIONS(nvJitLinkGetErrorLogSize)
VERSIONS(nvJitLinkGetErrorLog)
VERSIONS(nvJitLinkGetInfoLogSize)
VERSIONS(nvJitLinkGetInfoLog)
