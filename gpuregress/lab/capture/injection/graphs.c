/* CUDA graphs: which kernels were recorded into each, so that a launch of a graph is logged with their names. */
#include "library.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_GRAPHS = 4096, LONGEST_NAMES = 1500 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    Handle handle; /* a graph, or an executable one */
    Function *function; /* named after its kernels */
} graphs[MOST_GRAPHS];
static unsigned count;

/* A function that stands for a graph of these kernels, with commas between them. */
static Function *named(const char *names)
{
    Function *function = calloc(1, sizeof *function);
    Kernel *kernel = calloc(1, sizeof *kernel);
    size_t room = strlen(names) + 8;
    char *name = malloc(room);
    if (!function || !kernel || !name)
        return NULL;
    snprintf(name, room, "graph:%s", names);
    kernel->name = name;
    kernel->name_length = strlen(name);
    function->kernel = kernel;
    return function;
}

static void set(Handle handle, Function *function)
{
    unsigned at = 0;
    while (at < count && graphs[at].handle != handle)
        at++;
    if (at == MOST_GRAPHS)
        return;
    graphs[at].handle = handle;
    graphs[at].function = function;
    if (at == count)
        count++;
}

static Function *get(Handle handle)
{
    for (unsigned i = 0; i < count; i++)
        if (graphs[i].handle == handle)
            return graphs[i].function;
    return NULL;
}

bool is_recorded(Handle stream, Handle *graph)
{
    int status = 0; /* 0: it does not record, 2: its recording is invalid */
    uint64_t id;
    *graph = NULL;
    return driver.stream_get_capture_info && driver.stream_get_capture_info(stream, &status, &id, graph, NULL, NULL) == 0 &&
           status != 0;
}

/* A kernel is launched into a stream that records. */
void note_recorded(Handle graph, const char *kernel)
{
    pthread_mutex_lock(&lock);
    const Function *function = get(graph);
    const char *before = function ? function->kernel->name + strlen("graph:") : "";
    char names[LONGEST_NAMES + 8];
    if (strlen(before) + strlen(kernel) + 8 < LONGEST_NAMES)
        snprintf(names, sizeof names, "%s%s%s", before, before[0] ? "," : "", kernel);
    else
        snprintf(names, sizeof names, "%s%s", before, strstr(before, ",...") ? "" : ",...");
    set(graph, named(names));
    pthread_mutex_unlock(&lock);
}

/* A graph is destroyed, and its handle may be given out again. */
void forget_graph(Handle graph)
{
    pthread_mutex_lock(&lock);
    set(graph, NULL);
    pthread_mutex_unlock(&lock);
}

/* An executable graph was made of a graph. */
void note_executable(Handle executable, Handle graph)
{
    pthread_mutex_lock(&lock);
    Function *function = get(graph);
    set(executable, function ? function : named(""));
    pthread_mutex_unlock(&lock);
}

/* The function that stands for an executable graph in the log. */
Function *function_of_graph(Handle executable)
{
    pthread_mutex_lock(&lock);
    Function *function = get(executable);
    if (!function) {
        function = named("");
        set(executable, function);
    }
    pthread_mutex_unlock(&lock);
    return function;
}
