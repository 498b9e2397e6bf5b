/* Shared declarations of the injection library. */
#ifndef GPUREGRESS_LIBRARY_H
#define GPUREGRESS_LIBRARY_H

#include "interface.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

enum { MOST_PARAMETERS = 256, MOST_PARAMETER_BYTES = 32768, MOST_SYMBOLS = 512, MOST_CONTEXTS = 64 };

/* What the command line asked for, from the environment. */
typedef struct {
    const char *folder; /* where records are written */
    const char *kernels; /* a glob */
    uint64_t nth; /* 0: not given */
    uint64_t every;
    uint64_t max;
    uint64_t max_bytes; /* contents kept of one kernel */
    bool sync; /* wait for each launch, and flush its log record to disk */
    double wait; /* seconds that a chosen launch may take; 0: no limit */
    bool is_log_only; /* no launch can be chosen */
} Request;

extern Request request;
extern Driver driver;
extern char process_name[256]; /* escaped, for the log */
extern size_t process_name_length;
extern int process_number; /* in the names of its files */
extern bool is_forked; /* a child cannot use its parent's GPU, and shares its log */
extern atomic_int recording_streams; /* streams that are captured into a graph */
extern __thread bool is_inside; /* the thread calls the driver for this library */

/* A loaded image: the machine code that CUPTI hands over, and what the program gave the driver. */
typedef struct Image {
    struct Image *next;
    uint64_t id;
    Handle owner; /* the module or library; null where it is not known */
    char *cubin; /* a copy */
    size_t cubin_size;
    uint64_t digest; /* of the cubin */
    char *given; /* a copy of the program's own image (PTX, fatbin, cubin), or null */
    size_t given_size;
    bool is_written;
} Image;

/* A kernel: the same name in the same machine code. */
typedef struct Kernel {
    struct Kernel *next;
    char *name;
    size_t name_length; /* of the part that the log shows */
    uint64_t digest;
    bool is_wanted;
    uint64_t launches;
    uint64_t kept_bytes;
    bool is_refused;
} Kernel;

/* How a function is launched; all zero before its first launch. */
typedef struct {
    uint32_t grid[3], block[3], shared, device;
} LoggedShape;

/* A function as the driver names it, with its parameters. */
typedef struct {
    Handle handle;
    Kernel *kernel;
    Image *image;
    Handle module;
    unsigned count;
    size_t offsets[MOST_PARAMETERS];
    size_t sizes[MOST_PARAMETERS];
    size_t bytes; /* of the parameter space */
    uint32_t number; /* in the launch log; 0: not there yet */
    LoggedShape shape; /* the last one in the log */
} Function;

/* A launch between its entry and its exit. */
typedef struct {
    uint64_t number;
    uint64_t occurrence; /* of the kernel, from 1 */
    Function *function;
    unsigned grid[3], block[3], cluster[3];
    unsigned shared;
    bool is_cooperative;
    Handle context;
    Handle stream;
    unsigned char values[MOST_PARAMETER_BYTES];
    uint64_t time_ns; /* of the log, to some milliseconds */
    double began; /* seconds */
} Launch;

#define PER_THREAD ((Handle)2) /* CU_STREAM_PER_THREAD */

/* callbacks.c */
void on_call(void *user, int domain, uint32_t id, const void *data);

/* launches.c: between the entry and the exit of a call that launches. */
void prepare_launches(void);
bool is_cooperative(uint32_t id);
void enter_launch(uint32_t id, const CallbackData *data);
void enter_graph(uint32_t id, const CallbackData *data);
void exit_launch(const CallbackData *data);

/* functions.c */
Function *function_of(Handle handle, const char *symbol);
void forget_functions(void); /* handles may be given out again */

/* images.c: modules and the variables in them. */
void begin_loading(void);
void remember_cubin(const char *cubin, size_t size);
void remember_loaded(Handle owner, const void *image, bool is_path);
void forget_images(void);
Image *find_image(Handle module, Handle library, const char *kernel);
unsigned list_variables(const Image *image, const char *names[MOST_SYMBOLS]);
void write_image(Image *image);

/* launch_log.c: a record before each launch, in memory that outlives the process. */
enum { RECORD_PROCESS = 1, RECORD_FUNCTION, RECORD_TIME, RECORD_SHAPE, RECORD_BEGIN, RECORD_END, RECORD_FAULT, RECORD_RETRY, RECORD_EXIT };
void open_log(void);
void log_begin(Launch *launch, int device);
void log_end(uint64_t first, uint64_t last, double elapsed_ms);
void log_text(int kind, uint64_t number, const char *text);
void log_exit(int status);
bool start_beside(pthread_t *thread, void *(*body)(void *), void *argument); /* a thread that takes no signals */

/* graphs.c: the kernels of CUDA graphs. */
bool is_recorded(Handle stream, Handle *graph); /* whether a stream records, and into which graph */
void note_recorded(Handle graph, const char *kernel);
void forget_graph(Handle graph);
void note_executable(Handle executable, Handle graph);
Function *function_of_graph(Handle executable);

/* progress.c: which launches have finished. */
void note_launch(const Launch *launch);
void note_finished_stream(Handle context, Handle stream);
void note_finished_all(Handle context);
void note_markers(void);
void blame(Handle context, Result error);
bool is_lost(Handle context); /* whether an error has ended it */

/* waits.c: waits for the GPU. */
enum { TOO_LONG = -1 };
Result wait_for_gpu(Handle context); /* TOO_LONG after the time limit */
int relax_recording(void); /* let this thread make calls that a recording of a graph forbids */
void restore_recording(int mode);

/* contents.c: a chosen launch, with the memory that it can reach. */
void keep_before(const Launch *launch, int device);
void keep_after(const Launch *launch, Result result);
void give_up(const Launch *launch); /* it takes too long */

/* records.c: JSON lines. */
FILE *begin_record(void);
void end_record(FILE *file);
void write_text(FILE *file, const char *text);
void refuse(Kernel *kernel, const char *reason);
void write_problem(const char *text);

/* names.c */
bool matches(const char *mangled, const char *glob);
void escape(const char *text, char *target, size_t room);

const char *error_name(Result error);

#endif
