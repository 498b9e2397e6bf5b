/* Launch log: a binary record before each launch, in a mapped file; `raw_log.py` reads it.
 *
 * The records are in the system's page cache as soon as they are written, so no crash of the process loses them. With
 * `sync` they are on disk. The file grows in steps; what is behind the last record is zero. A record begins with its
 * size and kind, and has a multiple of 8 bytes. The size is written last, so a record that has one is whole.
 */
#define _GNU_SOURCE
#include "library.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STEP = 4 << 20, LONGEST = 4096, MOST_VALUES = 1024, MOST_PROGRAMS = 200, BEYOND_PIDS = 10000000 };

typedef struct {
    uint16_t size; /* of the record */
    uint16_t kind;
    uint32_t word; /* kinds differ in it */
} Header;

typedef struct { /* how the launches of a function are configured from here on; `word`: number of the function */
    Header header;
    LoggedShape shape;
} Shape;

typedef struct { /* `word`: number of the function; the values follow */
    Header header;
    uint64_t number;
} Begin;

typedef struct { /* these launches have ended; the time is of a single one, NaN where it is not known */
    Header header;
    uint64_t first, last;
    double elapsed_ms;
} End;

int process_number;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int file = -1;
static char *window;
static size_t window_at; /* in the file */
static size_t used; /* of the window */
static pthread_t toucher;
static bool is_touching;
static uint32_t last_function;
static uint64_t last_time;

/* Touch the pages of a window, so that no launch waits for the system to make them. */
static void *touch(void *start)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < STEP; at += page)
        __atomic_fetch_or((char *)start + at, 0, __ATOMIC_RELAXED);
    return NULL;
}

bool start_beside(pthread_t *thread, void *(*body)(void *), void *argument)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = pthread_create(thread, NULL, body, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

static void next_window(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), end = window_at + used, start = end - end % page;
    if (is_touching)
        pthread_join(toucher, NULL);
    is_touching = false;
    if (window)
        munmap(window, STEP);
    window = NULL;
    struct stat status;
    if (fstat(file, &status) != 0 || !status.st_nlink) /* the capture is over, and its folder is gone */
        return;
    int error;
    do /* a page without space on disk would be a SIGBUS */
        error = posix_fallocate(file, (off_t)start, STEP);
    while (error == EINTR);
    if ((error == EOPNOTSUPP || error == EINVAL) && ftruncate(file, (off_t)(start + STEP)) == 0)
        error = 0; /* a file system that reserves nothing */
    if (error != 0) {
        char text[200];
        snprintf(text, sizeof text, "the launch log ends early, as it cannot grow: %s", strerror(error));
        write_problem(text);
        return;
    }
    window = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)start);
    if (window == MAP_FAILED)
        window = NULL;
    window_at = start;
    used = end - start;
    if (window) /* it is never unmapped before the thread ends */
        is_touching = start_beside(&toucher, touch, window);
}

void open_log(void)
{
    char path[4096];
    process_number = (int)getpid();
    for (int tried = 0; tried < MOST_PROGRAMS; tried++) { /* exec keeps the process id, and its records are there */
        snprintf(path, sizeof path, "%s/%d.log", request.folder, process_number);
        file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (file >= 0 || errno != EEXIST)
            break;
        process_number += BEYOND_PIDS;
    }
    window_at = used = 0;
    if (file < 0)
        return;
    struct flock held = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    fcntl(file, F_SETLK, &held); /* as long as the process lives, so that the capture knows when it ends */
    next_window();
    log_text(RECORD_PROCESS, 0, process_name);
}

/* Append a record whose `size` is not set yet. The lock is held. */
static void append(const void *record, size_t size)
{
    if (window && used + size > STEP)
        next_window();
    if (!window)
        return;
    uint16_t total = (uint16_t)size;
    memcpy(window + used + sizeof total, (const char *)record + sizeof total, size - sizeof total);
    __atomic_store_n((uint16_t *)(window + used), total, __ATOMIC_RELEASE);
    used += size;
    if (request.sync)
        fdatasync(file);
}

/* Name a function: its parameters' offsets and sizes, then the kernel. */
static void append_function(Function *function)
{
    union {
        Header header;
        uint64_t aligned;
        char bytes[sizeof(Header) + 8 * MOST_PARAMETERS + LONGEST];
    } record = {.header = {.kind = RECORD_FUNCTION, .word = ++last_function}};
    uint32_t *at = (uint32_t *)(record.bytes + sizeof(Header));
    *at++ = function->count;
    *at++ = (uint32_t)function->kernel->name_length;
    for (unsigned i = 0; i < function->count; i++) {
        *at++ = (uint32_t)function->offsets[i];
        *at++ = (uint32_t)function->sizes[i];
    }
    memcpy(at, function->kernel->name, function->kernel->name_length);
    size_t size = (size_t)((char *)at - record.bytes) + function->kernel->name_length;
    append(record.bytes, (size + 7) & ~(size_t)7);
    function->number = last_function;
}

static void append_shape(Function *function, const LoggedShape *shape)
{
    Shape record = {{0, RECORD_SHAPE, function->number}, *shape};
    append(&record, sizeof record);
    function->shape = *shape;
}

void log_begin(Launch *launch, int device)
{
    LoggedShape shape = {{launch->grid[0], launch->grid[1], launch->grid[2]},
                         {launch->block[0], launch->block[1], launch->block[2]},
                         launch->shared,
                         (uint32_t)device};
    struct {
        Begin begin;
        unsigned char values[MOST_VALUES];
    } record; /* only its used part is set */
    struct {
        Header header;
        uint64_t ns;
    } now_is = {{0, RECORD_TIME, 0}, 0};
    struct timespec time;
    Function *function = launch->function;
    size_t size = function->bytes < MOST_VALUES ? function->bytes : MOST_VALUES;
    record.begin = (Begin){{0, RECORD_BEGIN, 0}, launch->number};
    memset(record.values + (size & ~(size_t)7), 0, size % 8 ? 8 : 0);
    memcpy(record.values, launch->values, size);
    clock_gettime(CLOCK_REALTIME_COARSE, &time);
    launch->time_ns = now_is.ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    pthread_mutex_lock(&lock);
    if (!function->number)
        append_function(function);
    if (memcmp(&function->shape, &shape, sizeof shape) != 0)
        append_shape(function, &shape);
    record.begin.header.word = function->number;
    if (now_is.ns != last_time)
        append(&now_is, sizeof now_is);
    last_time = now_is.ns;
    append(&record, (sizeof record.begin + size + 7) & ~(size_t)7);
    pthread_mutex_unlock(&lock);
}

void log_end(uint64_t first, uint64_t last, double elapsed_ms)
{
    End record = {{0, RECORD_END, 0}, first, last, elapsed_ms};
    pthread_mutex_lock(&lock);
    append(&record, sizeof record);
    pthread_mutex_unlock(&lock);
}

void log_text(int kind, uint64_t number, const char *text)
{
    struct {
        Header header;
        uint64_t number;
        char text[1000];
    } record = {.header = {.kind = (uint16_t)kind}, .number = number};
    size_t length = strnlen(text, sizeof record.text - 1);
    record.header.word = (uint32_t)length;
    memcpy(record.text, text, length);
    pthread_mutex_lock(&lock);
    append(&record, (offsetof(typeof(record), text) + length + 7) & ~(size_t)7);
    pthread_mutex_unlock(&lock);
}

void log_exit(int status)
{
    Header record = {0, RECORD_EXIT, (uint32_t)status};
    pthread_mutex_lock(&lock);
    append(&record, sizeof record);
    pthread_mutex_unlock(&lock);
}
