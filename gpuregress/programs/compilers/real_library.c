/* NVIDIA's own library behind a stand-in. */
#define _GNU_SOURCE
#include "real_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *folders;

/* A program may empty its environment later. */
__attribute__((constructor)) static void read_folders(void) {
    const char *given = getenv("GPUREGRESS_EXEC_COMPILERS");
    folders = given ? strdup(given) : NULL;
}

void *real_function(const char *library, const char *name) {
    static void *opened;
    for (const char *start = folders; !opened && start && *start;) {
        char path[4096];
        size_t size = strcspn(start, ":");
        if (snprintf(path, sizeof path, "%.*s/%s", (int)size, start, library) < (int)sizeof path)
            opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        start += size + (start[size] == ':');
    }
    if (!opened) fprintf(stderr, "gpuregress: NVIDIA's %s was not found: install it with pip, or set CUDA_HOME\n", library);
    return opened ? dlsym(opened, name) : NULL;
}
