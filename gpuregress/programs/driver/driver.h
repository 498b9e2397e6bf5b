/* Types of the driver API, and what the parts of this driver share.
 *
 * Names and numbers are those of NVIDIA's documentation of the CUDA driver API. cuda.h itself is not needed.
 */
#ifndef GPUREGRESS_DRIVER_H
#define GPUREGRESS_DRIVER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))

enum {
    SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101,
    INVALID_IMAGE = 200, INVALID_CONTEXT = 201, NO_BINARY_FOR_GPU = 209, UNSUPPORTED_LIMIT = 215, INVALID_PTX = 218,
    FILE_NOT_FOUND = 301, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700,
    PRIMARY_CONTEXT_ACTIVE = 708, ALREADY_REGISTERED = 712, NOT_REGISTERED = 713, NOT_SUPPORTED = 801, UNKNOWN = 999
};

typedef int Result;
typedef int Device;
typedef uint64_t Address;

/* --- handles: each begins with a number that tells its kind, so that a wrong one is refused ---------------------- */

enum { CONTEXT = 0x43545831, STREAM, EVENT, MODULE, FUNCTION, ARRAY, POOL, LINK, GRAPH, GRAPH_INSTANCE, USER_OBJECT };

typedef struct Context {
    uint32_t kind;
    uint32_t flags;
    uint64_t id;
    int uses;
    size_t limits[16];
} Context;

enum { STREAMS = 128 };
/* Streams whose order is followed. */

typedef struct Stream {
    uint32_t kind;
    unsigned flags;
    int priority;
    uint64_t id;
    Context *context;
    uint32_t clock[STREAMS]; /* of its last work */
    struct Graph *graph; /* into which it is captured, or was */
    uint64_t captured_work;
    bool is_unjoined;
} Stream;

typedef struct Event {
    uint32_t kind;
    unsigned flags;
    double time_ms; /* negative: it was never recorded */
    int pending;    /* records that are still to come */
    uint32_t clock[STREAMS];
    Stream *captured; /* which was captured when the event was recorded, NULL: none was */
    uint64_t captured_work;
} Event;

struct Function;

typedef struct Module {
    uint32_t kind;
    uint32_t number; /* of the server */
    Context *context;
    struct Function *functions;
    struct Module *next;
} Module;

/* A function of a module and a kernel of a library are one thing here. */
typedef struct Function {
    uint32_t kind;
    uint32_t number;
    Module *module;
    struct Function *next;
    char *name;
    uint32_t parameter_count;
    uint32_t parameter_bytes;
    uint32_t (*parameters)[2]; /* offset and size of each */
    int attributes[18];
    struct LaunchRequest *accepted; /* the last launch that a GPU would not refuse */
    /* of the launch calls before CUDA 4 */
    unsigned block[3];
    unsigned shared;
    unsigned char *arguments;
    unsigned argument_bytes;
} Function;

typedef struct Array {
    uint32_t kind;
    unsigned format, channels, flags, element_bytes;
    size_t width, height, depth;
    Address address;
} Array;

typedef struct Pool {
    uint32_t kind;
    int allocation, location; /* CUmemAllocationType, CUmemLocationType */
    uint64_t threshold;
    int reuse[4];
} Pool;

/* --- memory ------------------------------------------------------------------------------------------------------- */

enum { DEVICE_MEMORY = 1, MANAGED_MEMORY, PINNED_MEMORY, REGISTERED_MEMORY, VARIABLE };

typedef struct Region {
    Address address; /* 0: none */
    size_t size;
    char *host;      /* where it lies in this process */
    void *user;      /* of registered memory: the program's own address; of a managed variable: its second one */
    struct Region *next; /* of registered memory */
    char *before;    /* of registered memory: its contents when the launch that runs began */
    size_t offset;   /* in the memory that client and server share */
    unsigned kind, flags;
    uint64_t number;
    Context *context;
    bool is_of_pool, is_of_graph;
    bool is_freed; /* when a stream comes to it */
} Region;

Region *find_region(Address address);
Region *find_start(Address address);
/* The managed, pinned or registered memory at an address, which the program reads and writes itself; NULL: other memory. */
Region *find_visible(Address address);
/* The place of a stretch of memory in this process; NULL where no region has all of it. */
char *device_bytes(Address address, size_t size);
/* The same, for host memory, too. */
char *any_bytes(Address address, size_t size);
/* Whether an address can be one of this process; addresses of device memory lie above all of them. */
bool is_host_address(Address address);
/* The device's address of bytes that a kernel can reach, 0 of the program's own memory. */
Address reachable(Address address);
void note_written(Address address, size_t size);
/* What a launch has to do for memory that the program has registered. */
void begin_launch_on_registered(void);
void end_launch_on_registered(void);
Result allocate(Address *address, size_t size, unsigned kind, const char *call);
Result release(Region *region);
/* Free memory for the program; a graph's is kept for the next launch, which allocates it again. */
Result give_back(Region *region);
void release_regions_of(Context *context);
/* Replace a managed variable's address by a second one, at which the program itself can read and write it, too. */
Result map_variable(Address *address);
/* Forget the variables that the server has no more; others may have their addresses later. */
void forget_variables(void);
void release_modules_of(Context *context);
size_t allocated_bytes(void);
/* Whether the program may see what a kernel writes without a call: it has managed, pinned or registered memory. */
bool sees_device_memory(void);

/* --- the server --------------------------------------------------------------------------------------------------- */

enum Request {
    GREET = 1, ALLOCATE, PLACE, FREE, LOAD, UNLOAD, FUNCTION_OF, VARIABLE_OF, LAUNCH, FIND, TEXTURE, TENSOR_MAP, LIMIT_HEAP,
    OCCUPANCY, NAMES, STREAM_WORK = 17, SYNCHRONIZED, CHECK_LAUNCH, POSTED_LAUNCH, FINISH
};

typedef struct Answer {
    uint32_t size;
    char *data;       /* `small`, or allocated where that has no room */
    char small[1024];
} Answer;

typedef struct Piece {
    const void *data;
    size_t size;
} Piece;

Result start_server(void);
/* Send a request whose answer nobody waits for; its error is that of all calls after the next `ready`. */
Result post(enum Request request, const Piece *pieces, int count);
void finish_posted(void);
/* Send a request of some pieces and wait for its answer, whose text for the user is printed. `answer` may be NULL.
 * One that may be of more than 1024 bytes is given to `free_answer`. */
Result ask(enum Request request, const Piece *pieces, int count, Answer *answer);
void free_answer(Answer *answer);

#define ASK(request, answer, ...)                                                                                     \
    ask(request, (Piece[]){__VA_ARGS__}, (int)(sizeof((Piece[]){__VA_ARGS__}) / sizeof(Piece)), answer)
#define VALUE(value) {&(value), sizeof(value)}

/* --- state -------------------------------------------------------------------------------------------------------- */

bool is_initialized(void);
/* NOT_INITIALIZED before cuInit and in a child of fork, and the error that has ended all use of the device. Posted
 * launches have ended then. */
Result ready(void);
Result ready_with_context(void);
void fail_for_good(Result result);
/* A variable of the environment as it was when this library was loaded; NULL: it was not there. */
const char *setting(const char *name);
Context *current_context(void);
Context *primary_context(void);
bool is_device(Device device);
/* Print that something cannot be done, once for each text, and leave a mark for `gpuregress exec`. */
Result missing(const char *what);
/* Print that a copy has failed, and leave a mark. */
void report_freed(const char *call);
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void lock(void);
void unlock(void);

/* Fields that the answer to GREET holds. */
extern struct Greeting {
    uint64_t total_memory;
    uint64_t memory_size;
    char name[64];
    uint8_t uuid[16];
    int32_t attributes[192];
} greeting;

#define MUST_BE_READY()                                                                                               \
    do {                                                                                                              \
        Result ready_ = ready_with_context();                                                                         \
        if (ready_) return ready_;                                                                                    \
    } while (0)
#define CHECK(condition, result)                                                                                      \
    do {                                                                                                              \
        if (!(condition)) return result;                                                                              \
    } while (0)
#define IS(handle, kind_) ((handle) != NULL && (handle)->kind == (kind_))

Stream *real_stream(void *handle); /* NULL where the handle is none */

/* --- order of streams ----------------------------------------------------------------------------------------------- */

/* When a piece of work is done: vector clocks, as stream_races.py reads them. */
typedef struct Order {
    uint32_t slot, used;            /* of its stream; slots that have had work */
    uint32_t host[STREAMS];         /* the last work of each stream that the program knows to be done */
    uint32_t clock[STREAMS];        /* the last one before it, and itself */
} Order;

typedef struct Touched {
    uint64_t address, size, is_write;
} Touched;

void begin_ordering(const Stream *stream);
bool is_order_followed(const Stream *stream);
void order_next_work(Stream *stream, Order *order);
/* Tell the server of work that runs now; `order` is NULL where nothing is followed. */
void tell_order(const Order *order, const char *call, const Touched *touched, size_t count);
void note_launch(void);
void order_after(Stream *stream, const uint32_t *clock);
void order_program_after_event(const Event *event);
void order_program_after_stream(const Stream *stream);
void order_program_after_all(void);

/* --- queues of streams ------------------------------------------------------------------------------------------------ */

typedef Result WorkFunction(void *task, const Order *order);

/* Whether the schedule changes the order of streams, so that work is kept back. */
bool keeps_work_back(void);
/* Run work now, or keep it with a copy of its task. Work that is waited for runs now, after all that orders it. */
Result submit(Stream *stream, WorkFunction *run, void *task, size_t size, bool is_waited_for);
void run_work_until(const uint32_t *clock);
/* Run what the next work of a stream waits for. */
void run_work_before(const Stream *stream);
void run_all_work(void);
/* Between these, copies and fills belong to a stream. */
void begin_copy(Stream *stream);
Result end_copy(const char *call, Result result);

/* --- graphs ----------------------------------------------------------------------------------------------------------- */

enum NodeType { KERNEL_NODE, COPY_NODE, FILL_NODE, HOST_NODE, EMPTY_NODE = 5, ALLOCATION_NODE = 10, FREE_NODE };
typedef Result (*DeferredCall)(void *data, Stream *stream);

bool is_capturing(const Stream *stream);
/* Add a call to the graph of a stream that is captured; it gets a copy of the data. */
Result record_call(Stream *stream, int type, DeferredCall call, const void *data, size_t size);
/* Give memory to the graph of a stream that is captured: it lives as long as the graph and its instances. */
Result record_allocation(Stream *stream, Address address);
Result record_free(Stream *stream, Address address);
/* The error of a call that cannot be captured, which ends captures without a graph: one on a captured stream, or on the
 * legacy stream, one that may wait for the device (UNSAFE), or one that always does (FORBIDDEN). */
enum CaptureRisk { SAFE, UNSAFE, FORBIDDEN };
Result check_captures(const Stream *stream, enum CaptureRisk risk);
Result capture_event(Event *event, Stream *stream);
Result capture_wait(Stream *stream, const Event *event);
/* The error of a question about an event that was recorded while its stream was captured. */
Result check_captured_event(const Event *event);

/* A function by its name and the version of CUDA in which it came. */
typedef struct Procedure {
    const char *name;
    int version;
    void *function;
} Procedure;

extern const Procedure procedures[];
extern const size_t procedure_count;

#endif
