/* Launch log: one line before each launch, in a mapped file.
 *
 * The lines are in the system's page cache as soon as they are written, so no crash of the process loses them. With
 * `sync` they are on disk. The file grows in steps; what is behind the last line is zero.
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

enum { STEP = 4 << 20, LONGEST = 4096, MOST_PROGRAMS = 200, BEYOND_PIDS = 10000000 };

int process_number;

/* Append a literal. */
#define PUT(at, literal) (memcpy(at, literal, sizeof literal - 1), (at) + sizeof literal - 1)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int file = -1;
static char *window;
static size_t window_at; /* in the file */
static size_t used; /* of the window */
static pthread_t toucher;
static bool is_touching;

/* Touch the pages of a window, so that no launch waits for the system to make them. */
static void *touch(void *start)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < STEP; at += page)
        __atomic_fetch_or((char *)start + at, 0, __ATOMIC_RELAXED);
    return NULL;
}

/* Touch a window in a thread of its own, which takes no signals. The window is never unmapped before it ends. */
static void touch_beside(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    is_touching = pthread_create(&toucher, NULL, touch, window) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
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
    if (window)
        touch_beside();
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
    if (file >= 0)
        next_window();
}

static void append(const char *line, size_t length)
{
    pthread_mutex_lock(&lock);
    if (window && used + length > STEP)
        next_window();
    if (window) {
        memcpy(window + used, line, length);
        used += length;
        if (request.sync)
            fdatasync(file);
    }
    pthread_mutex_unlock(&lock);
}

static char *put_number(char *at, uint64_t number)
{
    char digits[20];
    int count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count)
        *at++ = digits[--count];
    return at;
}

static char *put_hex(char *at, uint64_t number)
{
    int shift = 60;
    *at++ = '0';
    *at++ = 'x';
    while (shift && !(number >> shift))
        shift -= 4;
    for (; shift >= 0; shift -= 4)
        *at++ = "0123456789abcdef"[number >> shift & 15];
    return at;
}

static char *put_size(char *at, const unsigned size[3])
{
    *at++ = '(';
    for (int axis = 0; axis < 3; axis++) {
        at = put_number(at, size[axis]);
        *at++ = axis < 2 ? ',' : ')';
    }
    return at;
}

static char *put_time(char *at)
{
    static __thread time_t last;
    static __thread char text[32];
    struct timespec time;
    clock_gettime(CLOCK_REALTIME_COARSE, &time);
    if (time.tv_sec != last || !text[0]) {
        struct tm parts;
        gmtime_r(&time.tv_sec, &parts);
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.", &parts);
        last = time.tv_sec;
    }
    unsigned ms = (unsigned)(time.tv_nsec / 1000000);
    memcpy(at, text, 20);
    at += 20;
    *at++ = (char)('0' + ms / 100);
    *at++ = (char)('0' + ms / 10 % 10);
    *at++ = (char)('0' + ms % 10);
    *at++ = 'Z';
    return at;
}

/* A parameter: a number where it has 1, 2, 4 or 8 bytes, else the words of a struct, the first ones. */
static char *put_parameter(char *at, const unsigned char *value, size_t size)
{
    uint64_t word = 0;
    if (size <= 8) {
        memcpy(&word, value, size);
        return put_hex(at, word);
    }
    *at++ = '{';
    for (size_t done = 0; done < size && done < 256; done += 8) {
        if (done) {
            *at++ = ',';
            *at++ = ' ';
        }
        word = 0;
        memcpy(&word, value + done, size - done < 8 ? size - done : 8);
        at = put_hex(at, word);
    }
    if (size > 256)
        at = PUT(at, ", ...");
    *at++ = '}';
    return at;
}

void log_begin(const Launch *launch, int device)
{
    char line[LONGEST + 1024], *at = line;
    const Function *function = launch->function;
    at = PUT(at, "begin ");
    at = put_number(at, launch->number);
    *at++ = ' ';
    at = put_time(at);
    at = PUT(at, " cuda:");
    at = put_number(at, (uint64_t)device);
    *at++ = ' ';
    memcpy(at, process_name, process_name_length);
    at += process_name_length;
    *at++ = ' ';
    memcpy(at, function->kernel->name, function->kernel->name_length);
    at += function->kernel->name_length;
    at = PUT(at, "<<<");
    at = put_size(at, launch->grid);
    *at++ = ',';
    at = put_size(at, launch->block);
    *at++ = ',';
    at = put_number(at, launch->shared);
    at = PUT(at, ">>>(");
    for (unsigned i = 0; i < function->count; i++) {
        if (at - line > LONGEST - 700) {
            at = PUT(at, "...");
            break;
        }
        if (i)
            at = PUT(at, ", ");
        at = put_parameter(at, launch->values + function->offsets[i], function->sizes[i]);
    }
    at = PUT(at, ") seed=0\n");
    append(line, (size_t)(at - line));
}

void log_end(uint64_t number, double elapsed_ms)
{
    char line[80], *at = PUT(line, "end ");
    at = put_number(at, number);
    if (elapsed_ms < 0)
        at = PUT(at, " nan ms\n");
    else
        at += snprintf(at, 40, " %.3f ms\n", elapsed_ms);
    append(line, (size_t)(at - line));
}

void log_text(const char *kind, uint64_t number, const char *text)
{
    char line[1024];
    int length = snprintf(line, sizeof line, "%s %llu %.900s\n", kind, (unsigned long long)number, text);
    append(line, (size_t)length);
}
