/* The server process: its start, requests to it, and its end. */
#define _GNU_SOURCE
#include "driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared_memory.h"

struct Greeting greeting;
char *shared_memory;

enum { MESSAGE_MAGIC = 0x53475056 };

static int connection = -1;
static struct stat connection_file; /* tells whether the descriptor is still the connection's */
static char **environment;          /* as it was when this library was loaded */
static bool is_started, is_forked;
static volatile bool has_posted; /* requests that nobody has waited for */
static Result ended_by;
static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

typedef struct {
    uint32_t magic, request, size;
} RequestHead;

typedef struct {
    int32_t result;
    uint32_t data_bytes, output_bytes, message_bytes;
} AnswerHead;

void lock(void) { pthread_mutex_lock(&mutex); }
void unlock(void) { pthread_mutex_unlock(&mutex); }

bool is_initialized(void) { return is_started && !is_forked; }

Result ready(void) {
    if (!is_initialized()) return NOT_INITIALIZED;
    finish_posted();
    return ended_by;
}

void fail_for_good(Result result) {
    if (!ended_by) ended_by = result;
}

static char **copy_environment(void) {
    size_t count = 0;
    while (environ && environ[count]) count++;
    char **copy = calloc(count + 1, sizeof *copy);
    for (size_t index = 0; copy && index < count; index++) copy[index] = strdup(environ[index]);
    return copy;
}

/* The environment with which the process was started; a program may have emptied its own before it loads this library. */
static char **initial_environment(void) {
    char *text = NULL;
    size_t room = 0, count = 0;
    FILE *file = fopen("/proc/self/environ", "re");
    char **result = calloc(1, sizeof *result);
    while (file && result && getdelim(&text, &room, 0, file) > 0) {
        char **grown = realloc(result, (count + 2) * sizeof *result);
        if (!grown) break;
        result = grown;
        result[count++] = strdup(text);
        result[count] = NULL;
    }
    free(text);
    if (file) fclose(file);
    return result;
}

const char *setting(const char *name) {
    size_t length = strlen(name);
    for (char **entry = environment; entry && *entry; entry++)
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
    return NULL;
}

/* Append a line to the file of marks, which `gpuregress exec` reads when the program has ended. */
static void leave_mark(const char *kind, const char *what) {
    const char *folder = setting("GPUREGRESS_EXEC_FOLDER");
    char path[4096], line[1024];
    if (!folder || snprintf(path, sizeof path, "%s/marks", folder) >= (int)sizeof path) return;
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return;
    int size = snprintf(line, sizeof line, "%s\t%d\t%s\n", kind, (int)getpid(), what);
    if (size > 0 && write(file, line, size < (int)sizeof line ? size : (int)sizeof line) < 0) errno = 0;
    close(file);
}

static void print(const char *text, size_t size) {
    while (size > 0) {
        ssize_t count = write(STDERR_FILENO, text, size);
        if (count <= 0 && errno != EINTR) return;
        if (count > 0) text += count, size -= (size_t)count;
    }
}

void complain(const char *format, ...) {
    char text[2048];
    va_list values;
    va_start(values, format);
    int size = vsnprintf(text, sizeof text - 1, format, values);
    va_end(values);
    if (size < 0) return;
    if (size > (int)sizeof text - 2) size = (int)sizeof text - 2;
    text[size++] = '\n';
    print(text, (size_t)size);
}

Result missing(const char *what) {
    static const char *seen[512];
    static int count;
    lock();
    int index = 0;
    while (index < count && strcmp(seen[index], what) != 0) index++;
    if (index == count) {
        if (count < 512 && (seen[count] = strdup(what))) count++;
        complain("gpuregress: not supported: %s", what);
        leave_mark("missing", what);
    }
    unlock();
    return ended_by ? ended_by : NOT_SUPPORTED;
}

void report_freed(const char *call) {
    char text[256];
    snprintf(text, sizeof text, "%s: its memory was freed before the stream came to it", call);
    complain("gpuregress: %s", text);
    leave_mark("fault", text);
}

/* For the runtime library, whose functions that are not there count as the driver's do. */
EXPORTED void gpuregress_report_missing(const char *what) { missing(what); }

static bool is_connected(void) {
    struct stat now;
    return connection >= 0 && fstat(connection, &now) == 0 && now.st_dev == connection_file.st_dev &&
           now.st_ino == connection_file.st_ino;
}

/* A program that closes descriptors by number may have another file at this one. */
static void disconnect(void) {
    if (is_connected()) close(connection);
    connection = -1;
}

static void in_child(void) {
    /* Another thread may have held the mutex, and is not in the child. */
    pthread_mutex_t fresh = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    memcpy(&mutex, &fresh, sizeof mutex);
    disconnect();
    has_posted = false;
    is_forked = is_started;
}

/* Above the descriptors that programs use by number: 0 to 2 may be closed, and are then the next to be given. */
static int move_up(int descriptor) {
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, 100);
    if (moved < 0) moved = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    if (moved < 0) return descriptor;
    close(descriptor);
    return moved;
}

/* The server's environment: the program's own, without what changes how Python starts. */
static void run_server(int socket_end, int memory_file, char *const arguments[]) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int number = 1; number < 32; number++) signal(number, SIG_DFL);
    int nowhere = open("/dev/null", O_RDWR);
    int from = fcntl(socket_end, F_DUPFD, 10), memory = fcntl(memory_file, F_DUPFD, 10);
    if (fcntl(STDERR_FILENO, F_GETFD) < 0) dup2(nowhere, STDERR_FILENO);
    dup2(nowhere, STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    dup2(from, 3);
    dup2(memory, 4);
#ifdef SYS_close_range
    syscall(SYS_close_range, 5u, ~0u, 0u);
#else
    for (int number = 5; number < 1024; number++) close(number);
#endif
    execve(arguments[0], arguments, environment);
    _exit(127);
}

/* Say why the virtual GPU cannot start, also to `gpuregress exec`: the program may go on without a GPU. */
static Result fail_to_start(const char *step) {
    char reason[256];
    snprintf(reason, sizeof reason, "the virtual GPU cannot start: %s: %s", step, strerror(errno));
    complain("gpuregress: %s", reason);
    leave_mark("lost", reason);
    return OUT_OF_MEMORY;
}

/* Set the size of a file; a limit on the size of files is an error, and not a signal that ends the program. */
static int set_size(int file, off_t size) {
    sigset_t limit, earlier;
    struct timespec at_once = {0, 0};
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit, &earlier);
    int result = ftruncate(file, size), error = errno;
    if (result < 0 && error == EFBIG && !sigismember(&earlier, SIGXFSZ)) sigtimedwait(&limit, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &earlier, NULL);
    errno = error;
    return result;
}

static Result map_memory(int *file) {
    *file = memfd_create("gpuregress", MFD_CLOEXEC);
    if (*file < 0) return fail_to_start("its memory cannot be made (memfd_create)");
    *file = move_up(*file);
    if (set_size(*file, SHARED_BYTES) < 0) return fail_to_start("its memory is above the limit on the size of a file (ulimit -f)");
    char *memory = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, *file, 0);
    if (memory == MAP_FAILED)
        return fail_to_start("the process may not have 1 TiB of addresses, which take no memory (ulimit -v, RLIMIT_AS)");
    shared_memory = memory;
    return SUCCESS;
}

bool map_shared(void *target, size_t size, size_t offset) {
    /* With a size of 0 a shared mapping is mapped a second time (mremap(2)), which needs no descriptor of its file. */
    return mremap(shared_memory + offset, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, target) == target;
}

static Result spawn(int memory_file) {
    int ends[2];
    char client[32];
    const char *python = setting("GPUREGRESS_EXEC_PYTHON");
    if (!python) {
        complain("gpuregress: this libcuda.so.1 is the virtual GPU's: start the program by `gpuregress exec -- PROGRAM`");
        return NO_DEVICE;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return fail_to_start("its connection cannot be made (socketpair)");
    connection = move_up(ends[0]);
    int server_end = move_up(ends[1]);
    fstat(connection, &connection_file);
    snprintf(client, sizeof client, "%d", (int)getpid());
    /* The threads of numpy's BLAS, which is not used, would spin for a third of the start. */
    char *const arguments[] = {(char *)python, "-E", "-P", "-c",
                               "import os, sys; os.environ['OPENBLAS_NUM_THREADS'] = '1'; sys.path[:] = os.environ['GPUREGRESS_EXEC_PATH'].split(os.pathsep); "
                               "from gpuregress.programs.server import main; main(int(sys.argv[1]))",
                               client, NULL};
    /* Forked twice: the program's own wait() finds no child that it did not start. */
    pid_t child = fork();
    if (child == 0) {
        setsid();
        pid_t grandchild = fork();
        if (grandchild == 0) run_server(server_end, memory_file, arguments);
        _exit(grandchild < 0);
    }
    int error = errno, status = 0;
    close(server_end);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (child > 0 && !(WIFEXITED(status) && WEXITSTATUS(status))) return SUCCESS;
    errno = child < 0 ? error : EAGAIN;
    return fail_to_start("its server process cannot be started (fork)");
}

/* Programs that look whether a compiler's library is loaded before they search for it find the stand-in. */
__attribute__((constructor)) static void load_compilers(void) {
    environment = copy_environment();
    if (!setting("GPUREGRESS_EXEC_FOLDER")) environment = initial_environment();
    static const char *const names[] = {"libnvJitLink.so.13", "libnvrtc.so.13"};
    const char *folder = setting("GPUREGRESS_EXEC_LIBRARIES");
    char path[4096];
    for (size_t index = 0; folder && index < sizeof names / sizeof *names; index++)
        if (snprintf(path, sizeof path, "%s/%s", folder, names[index]) < (int)sizeof path) dlopen(path, RTLD_NOW);
}

Result start_server(void) {
    static bool has_handler;
    Result result = SUCCESS;
    if (is_forked) return NOT_INITIALIZED;
    lock();
    if (!is_started) {
        if (!has_handler) pthread_atfork(NULL, NULL, in_child);
        has_handler = true;
        Answer answer;
        int memory_file = -1;
        result = map_memory(&memory_file);
        if (!result) result = spawn(memory_file);
        if (memory_file >= 0) close(memory_file);
        if (!result) {
            result = ask(GREET, NULL, 0, &answer);
            if (!result) memcpy(&greeting, answer.data, sizeof greeting);
            else if (is_connected()) leave_mark("lost", "the server process could not start");
            free_answer(&answer);
        }
        is_started = !result;
        if (result) disconnect();
        if (result && shared_memory) munmap(shared_memory, SHARED_BYTES), shared_memory = NULL;
    }
    unlock();
    return result ? result : ended_by;
}

static bool send_all(struct iovec *parts, int count) {
    while (count > 0) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
        ssize_t sent = sendmsg(connection, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return false;
        while (count > 0 && (size_t)sent >= parts->iov_len) sent -= (ssize_t)parts->iov_len, parts++, count--;
        if (count > 0) parts->iov_base = (char *)parts->iov_base + sent, parts->iov_len -= (size_t)sent;
    }
    return true;
}

static bool receive_all(void *data, size_t size) {
    for (char *next = data; size > 0;) {
        ssize_t count = recv(connection, next, size, 0);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        next += count, size -= (size_t)count;
    }
    return true;
}

enum TextUse { PRINTED, OUTPUT, DISCARDED };

static bool receive_text(uint32_t size, enum TextUse use) {
    char text[4096];
    while (size > 0) {
        uint32_t part = size < sizeof text ? size : (uint32_t)sizeof text;
        if (!receive_all(text, part)) return false;
        if (use == OUTPUT) fwrite(text, 1, part, stdout);
        if (use == PRINTED) print(text, part);
        size -= part;
    }
    return true;
}

static bool receive_data(Answer *answer, uint32_t size) {
    if (answer && size > sizeof answer->small) answer->data = malloc(size);
    if (!answer || !answer->data) {
        if (answer) answer->data = answer->small;
        return receive_text(size, DISCARDED);
    }
    answer->size = size;
    return receive_all(answer->data, size);
}

void free_answer(Answer *answer) {
    if (answer->data != answer->small) free(answer->data);
    answer->data = answer->small;
}

static bool receive(Answer *answer, Result *result) {
    AnswerHead head;
    if (!receive_all(&head, sizeof head)) return false;
    *result = head.result;
    if (!receive_data(answer, head.data_bytes)) return false;
    if (answer && answer->size < head.data_bytes && !*result) *result = OUT_OF_MEMORY;
    if (!receive_text(head.output_bytes, OUTPUT)) return false;
    if (head.output_bytes) fflush(stdout);
    return receive_text(head.message_bytes, PRINTED);
}

static bool send_request(enum Request request, const Piece *pieces, int count) {
    struct iovec parts[8];
    RequestHead head = {MESSAGE_MAGIC, request, 0};
    for (int index = 0; index < count; index++) {
        parts[index + 1] = (struct iovec){(void *)pieces[index].data, pieces[index].size};
        head.size += (uint32_t)pieces[index].size;
    }
    parts[0] = (struct iovec){&head, sizeof head};
    return is_connected() && send_all(parts, count + 1);
}

static Result lose_server(void) {
    complain("gpuregress: the virtual GPU's server process has ended; nothing more can be run");
    leave_mark("lost", "the server process ended");
    fail_for_good(UNKNOWN);
    disconnect();
    return UNKNOWN;
}

Result ask(enum Request request, const Piece *pieces, int count, Answer *answer) {
    Result result;
    if (answer) answer->size = 0, answer->data = answer->small;
    lock();
    if (connection < 0) result = ended_by ? ended_by : NOT_INITIALIZED;
    else if (!send_request(request, pieces, count) || !receive(answer, &result)) result = lose_server();
    unlock();
    return result;
}

Result post(enum Request request, const Piece *pieces, int count) {
    lock();
    Result result = connection < 0 ? NOT_INITIALIZED : ended_by;
    if (!result && !send_request(request, pieces, count)) result = lose_server();
    if (!result) has_posted = true;
    unlock();
    return result;
}

void finish_posted(void) {
    if (!has_posted) return;
    lock();
    if (has_posted) {
        Result result = ask(FINISH, NULL, 0, NULL);
        has_posted = false; /* not before: other threads wait here, too, as long as it is true */
        if (result) fail_for_good(result);
    }
    unlock();
}
