/* Shared declarations of the injection library. */
#ifndef GPUREGRESS_LIBRARY_H
#define GPUREGRESS_LIBRARY_H

#include "interface.h"

#include <stdbool.h>
#include <stdio.h>

enum { MOST_PARAMETERS = 256, MOST_PARAMETER_BYTES = 32768, MOST_SYMBOLS = 512 };

/* What the command line asked for, from the environment. */
typedef struct {
    const char *folder; /* where records are written */
    const char *kernels; /* a glob */
    uint64_t nth; /* 0: not given */
    uint64_t every;
    uint64_t max;
    uint64_t max_bytes; /* contents kept of one kernel */
    bool sync; /* wait for each launch, and flush its log line to disk */
} Request;

extern Request request;
extern Driver driver;
extern char process_name[256]; /* escaped, for the log */
extern size_t process_name_length;
extern int process_number; /* in the names of its files */

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
} Function;

/* A launch between its entry and its exit. */
typedef struct {
    uint64_t number;
    uint64_t occurrence; /* of the kernel, from 1 */
    Function *function;
    unsigned grid[3], block[3], cluster[3];
    unsigned shared;
    bool is_cooperative;
    Handle stream;
    unsigned char values[MOST_PARAMETER_BYTES];
    double began; /* seconds */
} Launch;

/* images.c: modules and the variables in them. */
void begin_loading(void);
void remember_cubin(const char *cubin, size_t size);
void remember_loaded(Handle owner, const void *image, bool is_path);
void forget_images(void);
Image *find_image(Handle module, Handle library, const char *kernel);
unsigned list_variables(const Image *image, const char *names[MOST_SYMBOLS]);
void write_image(Image *image);

/* launch_log.c: a line before each launch, in memory that outlives the process. */
void open_log(void);
void log_begin(const Launch *launch, int device);
void log_end(uint64_t number, double elapsed_ms);
void log_text(const char *kind, uint64_t number, const char *text);

/* graphs.c: the kernels of CUDA graphs. */
void note_recorded(const char *kernel);
void note_graph(Handle graph);
void note_executable(Handle executable, Handle graph);
Function *function_of_graph(Handle executable);

/* progress.c: which launches have finished. */
void note_launch(const Launch *launch);
void note_finished_stream(Handle stream);
void note_finished_all(void);
void note_markers(void);
void blame(Result error);
bool is_lost(void); /* whether an error has ended the context */

/* contents.c: a chosen launch, with the memory that it can reach. */
void keep_before(const Launch *launch, int device);
void keep_after(const Launch *launch, Result result);

/* records.c: JSON lines. */
FILE *begin_record(void);
void end_record(FILE *file);
void write_text(FILE *file, const char *text);
void refuse(Kernel *kernel, const char *reason);
void write_problem(const char *text);

/* names.c */
bool matches(const char *mangled, const char *glob);
void escape(const char *text, char *target, size_t room);

double now(void); /* seconds, to some milliseconds */
const char *error_name(Result error);

#endif
