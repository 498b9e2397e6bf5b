/* Graphs that are captured from streams.
 *
 * While a stream is captured, its launches, copies and fills are recorded and not done. A launch of the graph does them
 * one after the other, in the order of the calls that were captured, which is one of the orders that a GPU may take.
 */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

enum { GLOBAL_MODE, THREAD_MODE, RELAXED_MODE };
enum { IS_CAPTURED = 1, IS_INVALIDATED = 2 };
enum {
    ILLEGAL_STATE = 401, CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED, CAPTURE_MERGE, CAPTURE_UNMATCHED, CAPTURE_UNJOINED,
    CAPTURE_ISOLATION, CAPTURE_IMPLICIT, CAPTURED_EVENT, CAPTURE_WRONG_THREAD, UPDATE_FAILURE = 910
};

typedef struct Node {
    int type;
    DeferredCall call;
    struct Node *next;
    size_t size;
    _Alignas(16) unsigned char data[];
} Node;

/* What a program lends to graphs, which tell it when they need it no more. */
typedef struct UserObject {
    uint32_t kind;
    unsigned references;
    void *data;
    void (*destroy)(void *);
} UserObject;

typedef struct Loan {
    UserObject *object;
    unsigned count;
    struct Loan *next;
} Loan;

/* A graph, and one that is instantiated, which has nodes of its own. The struct is kept when it is destroyed. */
typedef struct Graph {
    uint32_t kind;
    Node *first, *last;
    size_t count;
    Loan *loans;
    uint32_t clock[STREAMS]; /* of its last launch */
    /* of a capture */
    uint64_t id;
    Stream *origin;
    const void *thread;
    int mode, unjoined; /* streams whose last work no captured stream has waited for */
    bool is_broken;
    struct Graph *next; /* of the captures that have not ended */
} Graph;

static Graph *captures;
static _Thread_local int thread_mode;
static _Thread_local char thread_mark; /* its address tells the threads apart */

static Result release_object(UserObject *object, unsigned count) {
    CHECK(IS(object, USER_OBJECT) && count && count <= object->references, INVALID_VALUE);
    object->references -= count;
    if (object->references) return SUCCESS;
    object->kind = 0; /* kept, so that later uses of the handle are recognised */
    object->destroy(object->data);
    return SUCCESS;
}

static Result lend(Graph *graph, UserObject *object, unsigned count) {
    Loan *loan = malloc(sizeof *loan);
    CHECK(loan, OUT_OF_MEMORY);
    *loan = (Loan){object, count, graph->loans};
    graph->loans = loan;
    return SUCCESS;
}

static Graph *capture_of(const Stream *stream) {
    for (Graph *graph = captures; graph; graph = graph->next)
        if (stream && stream->graph == graph) return graph;
    return NULL;
}

bool is_capturing(const Stream *stream) { return captures && capture_of(stream); }

static Result append(Graph *graph, int type, DeferredCall call, const void *data, size_t size) {
    Node *node = calloc(1, sizeof *node + size);
    CHECK(node, OUT_OF_MEMORY);
    node->type = type, node->call = call, node->size = size;
    memcpy(node->data, data, size);
    *(graph->last ? &graph->last->next : &graph->first) = node;
    graph->last = node;
    graph->count++;
    return SUCCESS;
}

static void free_nodes(Graph *graph) {
    for (Node *node = graph->first, *next; node; node = next) {
        next = node->next;
        free(node);
    }
    for (Loan *loan = graph->loans, *next; loan; loan = next) {
        next = loan->next;
        if (loan->count) release_object(loan->object, loan->count);
        free(loan);
    }
    graph->first = graph->last = NULL;
    graph->loans = NULL;
    graph->count = 0;
}

static void set_unjoined(Stream *stream, bool is_unjoined) {
    if (stream == stream->graph->origin || stream->is_unjoined == is_unjoined) return;
    stream->is_unjoined = is_unjoined;
    stream->graph->unjoined += is_unjoined ? 1 : -1;
}

Result record_call(Stream *stream, int type, DeferredCall call, const void *data, size_t size) {
    Graph *graph = capture_of(stream);
    CHECK(!graph->is_broken, CAPTURE_INVALIDATED);
    lock();
    stream->captured_work++;
    set_unjoined(stream, true);
    Result result = append(graph, type, call, data, size);
    unlock();
    return result;
}

/* Which error it is, and which calls are allowed, is what an H200 answers (driver 13.0). */
Result check_captures(const Stream *stream, enum CaptureRisk risk) {
    Result result = SUCCESS;
    for (Graph *graph = captures; graph; graph = graph->next) {
        bool is_own = stream && stream->graph == graph;
        bool is_implicit = stream && stream->id == 1 && !(graph->origin->flags & 1);
        bool is_of_thread = graph->thread == &thread_mark;
        bool is_watched = thread_mode != RELAXED_MODE && graph->mode != RELAXED_MODE &&
                          (is_of_thread || (thread_mode == GLOBAL_MODE && graph->mode == GLOBAL_MODE));
        if (!is_own && !is_implicit && !(risk == UNSAFE && is_watched) && risk != FORBIDDEN) continue;
        graph->is_broken = true;
        result = is_implicit ? CAPTURE_IMPLICIT : CAPTURE_UNSUPPORTED;
    }
    return result;
}

Result capture_event(Event *event, Stream *stream) {
    event->captured = stream;
    event->captured_work = stream->captured_work;
    return SUCCESS;
}

Result check_captured_event(const Event *event) {
    Graph *graph = capture_of(event->captured);
    CHECK(graph && !graph->is_broken, INVALID_VALUE);
    graph->is_broken = true;
    return CAPTURED_EVENT;
}

Result capture_wait(Stream *stream, const Event *event) {
    Graph *graph = capture_of(event->captured), *own = capture_of(stream);
    if (own && own != graph) {
        own->is_broken = true;
        return graph ? CAPTURE_MERGE : CAPTURE_ISOLATION;
    }
    CHECK(graph, INVALID_VALUE);
    stream->graph = graph;
    if (event->captured == stream) return SUCCESS;
    if (!own) stream->is_unjoined = false;
    if (event->captured->is_unjoined) set_unjoined(stream, true);
    if (event->captured_work == event->captured->captured_work) set_unjoined(event->captured, false);
    return SUCCESS;
}

/* --- memory of graphs ------------------------------------------------------------------------------------------------- */

static uint64_t graph_bytes, most_graph_bytes;

typedef struct {
    Address address;
    uint64_t number, size; /* of the region: later memory may have its address */
} Allocation;

static void end_allocation(void *data) {
    Allocation *allocation = data;
    lock();
    Region *region = find_start(allocation->address);
    if (region && region->number == allocation->number) release(region);
    graph_bytes -= allocation->size;
    unlock();
    free(allocation);
}

/* The memory is there from the capture on, so that nothing is left to do when the graph comes to it. */
static Result do_nothing(void *data, Stream *stream) {
    (void)data, (void)stream;
    return SUCCESS;
}

Result record_allocation(Stream *stream, Address address) {
    const Region *region = find_start(address);
    UserObject *object = malloc(sizeof *object);
    Allocation *allocation = malloc(sizeof *allocation);
    CHECK(object && allocation, OUT_OF_MEMORY);
    *allocation = (Allocation){address, region->number, region->size};
    *object = (UserObject){USER_OBJECT, 1, allocation, end_allocation};
    graph_bytes += region->size;
    if (graph_bytes > most_graph_bytes) most_graph_bytes = graph_bytes;
    Result result = record_call(stream, ALLOCATION_NODE, do_nothing, &address, sizeof address);
    return result ? result : lend(stream->graph, object, 1);
}

Result record_free(Stream *stream, Address address) {
    CHECK(find_start(address), INVALID_VALUE);
    return record_call(stream, FREE_NODE, do_nothing, &address, sizeof address);
}

EXPORTED Result cuDeviceGetGraphMemAttribute(Device device, int attribute, void *value) {
    CHECK(!ready(), ready());
    CHECK(is_device(device), INVALID_DEVICE);
    CHECK(value && attribute >= 0 && attribute < 4, INVALID_VALUE);
    *(uint64_t *)value = attribute % 2 ? most_graph_bytes : graph_bytes; /* used and reserved memory are one here */
    return SUCCESS;
}

EXPORTED Result cuDeviceSetGraphMemAttribute(Device device, int attribute, void *value) {
    CHECK(!ready(), ready());
    CHECK(is_device(device), INVALID_DEVICE);
    CHECK(value && *(uint64_t *)value == 0 && attribute % 2 == 1, INVALID_VALUE);
    most_graph_bytes = graph_bytes;
    return SUCCESS;
}

EXPORTED Result cuDeviceGraphMemTrim(Device device) {
    CHECK(!ready(), ready());
    return is_device(device) ? SUCCESS : INVALID_DEVICE;
}

/* --- captures --------------------------------------------------------------------------------------------------------- */

#define STREAM_CALL(handle, condition)                                                                                \
    MUST_BE_READY();                                                                                                  \
    Stream *stream = real_stream(handle);                                                                             \
    CHECK(stream, INVALID_HANDLE);                                                                                    \
    CHECK(condition, INVALID_VALUE)

EXPORTED Result cuStreamBeginCapture_v2(void *given, int mode) {
    static uint64_t last_id;
    STREAM_CALL(given, mode >= GLOBAL_MODE && mode <= RELAXED_MODE);
    CHECK(stream->id != 1, CAPTURE_UNSUPPORTED); /* the legacy stream */
    CHECK(!is_capturing(stream), ILLEGAL_STATE);
    Graph *graph = calloc(1, sizeof *graph);
    CHECK(graph, OUT_OF_MEMORY);
    lock();
    *graph = (Graph){.kind = GRAPH, .id = ++last_id, .origin = stream, .thread = &thread_mark, .mode = mode, .next = captures};
    stream->graph = captures = graph;
    unlock();
    return SUCCESS;
}

EXPORTED Result cuStreamBeginCapture(void *given) { return cuStreamBeginCapture_v2(given, GLOBAL_MODE); }

EXPORTED Result cuStreamEndCapture(void *given, Graph **result) {
    STREAM_CALL(given, result);
    Graph *graph = capture_of(stream);
    CHECK(graph, ILLEGAL_STATE);
    if (graph->origin != stream) {
        graph->is_broken = true;
        return CAPTURE_UNMATCHED;
    }
    CHECK(graph->mode == RELAXED_MODE || graph->thread == &thread_mark, CAPTURE_WRONG_THREAD);
    lock();
    Graph **link = &captures;
    while (*link != graph) link = &(*link)->next;
    *link = graph->next;
    unlock();
    *result = NULL;
    if (!graph->is_broken && !graph->unjoined) {
        *result = graph;
        return SUCCESS;
    }
    free_nodes(graph);
    graph->kind = 0;
    return graph->is_broken ? CAPTURE_INVALIDATED : CAPTURE_UNJOINED;
}

EXPORTED Result cuStreamGetCaptureInfo_v2(void *given, int *status, uint64_t *id, Graph **graph, Node *const **nodes, size_t *count) {
    STREAM_CALL(given, status);
    Graph *capture = capture_of(stream);
    *status = capture ? (capture->is_broken ? IS_INVALIDATED : IS_CAPTURED) : 0;
    if (!capture) return SUCCESS;
    if (id) *id = capture->id;
    if (graph) *graph = capture;
    if (nodes) *nodes = &capture->last;
    if (count) *count = capture->last != NULL;
    return SUCCESS;
}

EXPORTED Result cuStreamGetCaptureInfo_v3(
    void *given, int *status, uint64_t *id, Graph **graph, Node *const **nodes, const void **edges, size_t *count) {
    if (edges) *edges = NULL;
    return cuStreamGetCaptureInfo_v2(given, status, id, graph, nodes, count);
}

EXPORTED Result cuStreamIsCapturing(void *given, int *status) { return cuStreamGetCaptureInfo_v2(given, status, NULL, NULL, NULL, NULL); }

EXPORTED Result cuThreadExchangeStreamCaptureMode(int *mode) {
    CHECK(mode && *mode >= GLOBAL_MODE && *mode <= RELAXED_MODE, INVALID_VALUE);
    int before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return SUCCESS;
}

/* --- graphs ----------------------------------------------------------------------------------------------------------- */

#define GRAPH_CALL(graph, kind, condition)                                                                            \
    MUST_BE_READY();                                                                                                  \
    CHECK(IS(graph, kind) && (condition), INVALID_VALUE)

static Result copy_graph(Graph **copy, const Graph *graph, uint32_t kind) {
    Graph *made = calloc(1, sizeof *made);
    CHECK(made, OUT_OF_MEMORY);
    made->kind = kind;
    for (const Node *node = graph->first; node; node = node->next) {
        Result result = append(made, node->type, node->call, node->data, node->size);
        if (result) return result;
    }
    for (const Loan *loan = graph->loans; loan; loan = loan->next) {
        loan->object->references += loan->count;
        Result result = lend(made, loan->object, loan->count);
        if (result) return result;
    }
    *copy = made;
    return SUCCESS;
}

EXPORTED Result cuGraphInstantiateWithFlags(Graph **instance, Graph *graph, uint64_t flags) {
    (void)flags;
    GRAPH_CALL(graph, GRAPH, instance);
    return copy_graph(instance, graph, GRAPH_INSTANCE);
}

EXPORTED Result cuGraphInstantiate_v2(Graph **instance, Graph *graph, void **node, char *log, size_t size) {
    if (node) *node = NULL;
    if (log && size) *log = 0;
    return cuGraphInstantiateWithFlags(instance, graph, 0);
}

typedef struct {
    uint64_t flags;
    void *upload_stream, *error_node;
    int result;
} InstantiateParams;

EXPORTED Result cuGraphInstantiateWithParams(Graph **instance, Graph *graph, InstantiateParams *params) {
    CHECK(params, INVALID_VALUE);
    params->error_node = NULL;
    params->result = 0;
    return cuGraphInstantiateWithFlags(instance, graph, params->flags);
}

EXPORTED Result cuGraphClone(Graph **clone, Graph *graph) { GRAPH_CALL(graph, GRAPH, clone); return copy_graph(clone, graph, GRAPH); }

EXPORTED Result cuGraphLaunch(Graph *instance, void *given) {
    STREAM_CALL(given, IS(instance, GRAPH_INSTANCE));
    if (is_capturing(stream)) return missing("graphs that are launched while a stream is captured");
    Result result = check_captures(stream, SAFE);
    order_after(stream, instance->clock);
    for (Node *node = instance->first; node && !result && !ready(); node = node->next) result = node->call(node->data, stream);
    memcpy(instance->clock, stream->clock, sizeof instance->clock);
    return result;
}

EXPORTED Result cuGraphUpload(Graph *instance, void *given) { STREAM_CALL(given, IS(instance, GRAPH_INSTANCE)); return SUCCESS; }

static Result destroy(Graph *graph) {
    free_nodes(graph);
    graph->kind = 0;
    return SUCCESS;
}

EXPORTED Result cuGraphDestroy(Graph *graph) { GRAPH_CALL(graph, GRAPH, true); return destroy(graph); }
EXPORTED Result cuGraphExecDestroy(Graph *instance) { GRAPH_CALL(instance, GRAPH_INSTANCE, true); return destroy(instance); }

EXPORTED Result cuGraphExecUpdate_v2(Graph *instance, Graph *graph, int *result_info) {
    enum { INFO_BYTES = 24, TOPOLOGY_CHANGED = 2 };
    Graph *copy;
    GRAPH_CALL(graph, GRAPH, IS(instance, GRAPH_INSTANCE) && result_info);
    memset(result_info, 0, INFO_BYTES);
    Node *old = instance->first, *new = graph->first;
    while (old && new && old->type == new->type) old = old->next, new = new->next;
    if (old || new) {
        *result_info = TOPOLOGY_CHANGED;
        return UPDATE_FAILURE;
    }
    Result result = copy_graph(&copy, graph, 0);
    if (result) return result;
    free_nodes(instance);
    instance->first = copy->first, instance->last = copy->last, instance->count = copy->count, instance->loans = copy->loans;
    free(copy);
    return SUCCESS;
}

EXPORTED Result cuGraphGetNodes(Graph *graph, Node **nodes, size_t *count) {
    GRAPH_CALL(graph, GRAPH, count);
    size_t index = 0;
    for (Node *node = graph->first; nodes && node && index < *count; node = node->next) nodes[index++] = node;
    *count = nodes ? index : graph->count;
    return SUCCESS;
}

EXPORTED Result cuGraphNodeGetType(Node *node, int *type) { MUST_BE_READY(); CHECK(node && type, INVALID_VALUE); *type = node->type; return SUCCESS; }

EXPORTED Result cuUserObjectCreate(UserObject **object, void *data, void (*destroy)(void *), unsigned references, unsigned flags) {
    (void)flags;
    CHECK(object && destroy && references, INVALID_VALUE);
    *object = malloc(sizeof **object);
    CHECK(*object, OUT_OF_MEMORY);
    **object = (UserObject){USER_OBJECT, references, data, destroy};
    return SUCCESS;
}

EXPORTED Result cuUserObjectRetain(UserObject *object, unsigned count) {
    CHECK(IS(object, USER_OBJECT) && count, INVALID_VALUE);
    object->references += count;
    return SUCCESS;
}

EXPORTED Result cuUserObjectRelease(UserObject *object, unsigned count) { return release_object(object, count); }

EXPORTED Result cuGraphRetainUserObject(Graph *graph, UserObject *object, unsigned count, unsigned flags) {
    enum { MOVES = 1 };
    GRAPH_CALL(graph, GRAPH, IS(object, USER_OBJECT) && count);
    if (!(flags & MOVES)) object->references += count;
    return lend(graph, object, count);
}

EXPORTED Result cuGraphReleaseUserObject(Graph *graph, UserObject *object, unsigned count) {
    GRAPH_CALL(graph, GRAPH, count);
    Loan *loan = graph->loans;
    while (loan && (loan->object != object || loan->count < count)) loan = loan->next;
    CHECK(loan, INVALID_VALUE);
    loan->count -= count;
    return release_object(object, count);
}
