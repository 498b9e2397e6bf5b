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
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared_memory.h"

struct Greeting greeting;
char *shared_memory;
int shared_descriptor = -1;

static int connection = -1;
static bool is_started, is_forked;
static Result ended_by;
static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

typedef struct {
    uint32_t request, size;
} RequestHead;

typedef struct {
    int32_t result;
    uint32_t data_bytes, output_bytes, message_bytes;
} AnswerHead;

void lock(void) { pthread_mutex_lock(&mutex); }
void unlock(void) { pthread_mutex_unlock(&mutex); }

Result ready(void) {
    if (!is_started || is_forked) return NOT_INITIALIZED;
    return ended_by;
}

void fail_for_good(Result result) {
    if (!ended_by) ended_by = result;
}

/* Append a line to the file of marks, which `gpuregress exec` reads when the program has ended. */
static void leave_mark(const char *kind, const char *what) {
    const char *folder = getenv("GPUREGRESS_EXEC_FOLDER");
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
        if (count < 512) seen[count++] = strdup(what);
        complain("gpuregress: not supported: %s", what);
        leave_mark("missing", what);
    }
    unlock();
    return ended_by ? ended_by : NOT_SUPPORTED;
}

/* For the runtime library, whose functions that are not there count as the driver's do. */
EXPORTED void gpuregress_report_missing(const char *what) { missing(what); }

static void in_child(void) {
    if (connection >= 0) close(connection);
    connection = -1;
    is_forked = is_started;
}

/* The server's environment: the program's own, without what changes how Python starts. */
static void run_server(int socket_end, char *const arguments[]) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int number = 1; number < 32; number++) signal(number, SIG_DFL);
    int nowhere = open("/dev/null", O_RDWR);
    int from = fcntl(socket_end, F_DUPFD, 10), memory = fcntl(shared_descriptor, F_DUPFD, 10);
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
    execv(arguments[0], arguments);
    _exit(127);
}

static Result map_memory(void) {
    shared_descriptor = memfd_create("gpuregress", MFD_CLOEXEC);
    if (shared_descriptor < 0 || ftruncate(shared_descriptor, SHARED_BYTES) < 0) return OUT_OF_MEMORY;
    shared_memory = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, shared_descriptor, 0);
    return shared_memory == MAP_FAILED ? OUT_OF_MEMORY : SUCCESS;
}

static Result spawn(void) {
    int ends[2];
    char client[32];
    const char *python = getenv("GPUREGRESS_EXEC_PYTHON");
    if (!python) {
        complain("gpuregress: this libcuda.so.1 is the virtual GPU's: start the program by `gpuregress exec -- PROGRAM`");
        return NO_DEVICE;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return OUT_OF_MEMORY;
    snprintf(client, sizeof client, "%d", (int)getpid());
    char *const arguments[] = {(char *)python, "-E", "-P", "-c",
                               "import os, sys; sys.path[:] = os.environ['GPUREGRESS_EXEC_PATH'].split(os.pathsep); "
                               "from gpuregress.programs.server import main; main(int(sys.argv[1]))",
                               client, NULL};
    /* Forked twice: the program's own wait() finds no child that it did not start. */
    pid_t child = fork();
    if (child == 0) {
        setsid();
        pid_t grandchild = fork();
        if (grandchild == 0) run_server(ends[1], arguments);
        _exit(grandchild < 0);
    }
    close(ends[1]);
    int status = 1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    connection = ends[0];
    return child < 0 ? OUT_OF_MEMORY : SUCCESS;
}

/* Programs that look whether a compiler's library is loaded before they search for it find the stand-in. */
__attribute__((constructor)) static void load_compilers(void) {
    static const char *const names[] = {"libnvJitLink.so.13", "libnvrtc.so.13"};
    const char *folder = getenv("GPUREGRESS_EXEC_LIBRARIES");
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
        static Answer answer;
        result = map_memory();
        if (!result) result = spawn();
        if (!result) result = ask(GREET, NULL, 0, &answer);
        if (!result) memcpy(&greeting, answer.data, sizeof greeting);
        is_started = !result;
        if (result && connection >= 0) close(connection), connection = -1;
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

static bool receive_text(uint32_t size, bool is_output) {
    char text[4096];
    while (size > 0) {
        uint32_t part = size < sizeof text ? size : (uint32_t)sizeof text;
        if (!receive_all(text, part)) return false;
        if (is_output) fwrite(text, 1, part, stdout);
        else print(text, part);
        size -= part;
    }
    return true;
}

static bool receive(Answer *answer, Result *result) {
    AnswerHead head;
    if (!receive_all(&head, sizeof head)) return false;
    *result = head.result;
    if (head.data_bytes > sizeof answer->data || (head.data_bytes && !answer)) return false;
    if (answer) answer->result = head.result, answer->size = head.data_bytes;
    if (head.data_bytes && !receive_all(answer->data, head.data_bytes)) return false;
    if (!receive_text(head.output_bytes, true)) return false;
    if (head.output_bytes) fflush(stdout);
    return receive_text(head.message_bytes, false);
}

Result ask(enum Request request, const Piece *pieces, int count, Answer *answer) {
    struct iovec parts[8];
    RequestHead head = {request, 0};
    Result result;
    for (int index = 0; index < count; index++) {
        parts[index + 1] = (struct iovec){(void *)pieces[index].data, pieces[index].size};
        head.size += (uint32_t)pieces[index].size;
    }
    parts[0] = (struct iovec){&head, sizeof head};
    lock();
    if (connection < 0) {
        result = ended_by ? ended_by : NOT_INITIALIZED;
    } else if (!send_all(parts, count + 1) || !receive(answer, &result)) {
        result = UNKNOWN;
        complain("gpuregress: the virtual GPU's server process has ended; nothing more can be run");
        leave_mark("lost", "the server process ended");
        fail_for_good(UNKNOWN);
        close(connection);
        connection = -1;
    }
    unlock();
    return result;
}
