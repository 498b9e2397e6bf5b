/* Graphs that are captured from streams, or that a program builds of nodes.
 *
 * While a stream is captured, its launches, copies and fills are recorded and not done. A launch of the graph does them
 * one after the other, in the order of the calls that were captured, which is one of the orders that a GPU may take.
 * Nodes that a program adds itself are done in the order in which they were added, except where an edge demands another.
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
    void *data;
    size_t size;
    struct Node *next;
    const struct Graph *graph;
    struct Node **dependencies;
    size_t dependency_count;
    const struct Node *source; /* from which it was copied; an instance keeps that of the graph it was made of */
    struct Node *copy; /* in the last copy of the graph */
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
static _Thread_local Stream node_stream; /* from which a node is captured that a program adds itself */

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
    if (stream == &node_stream) return stream->graph;
    for (Graph *graph = captures; graph; graph = graph->next)
        if (stream && stream->graph == graph) return graph;
    return NULL;
}

bool is_capturing(const Stream *stream) { return capture_of(stream); }

static Result append(Graph *graph, int type, DeferredCall call, const void *data, size_t size) {
    Node *node = malloc(sizeof *node);
    void *copy = malloc(size + 1);
    CHECK(node && copy, OUT_OF_MEMORY);
    *node = (Node){.type = type, .call = call, .data = copy, .size = size, .graph = graph};
    if (size) memcpy(copy, data, size);
    *(graph->last ? &graph->last->next : &graph->first) = node;
    graph->last = node;
    graph->count++;
    return SUCCESS;
}

static Result add_dependency(Node *node, Node *dependency) {
    Node **grown = realloc(node->dependencies, (node->dependency_count + 1) * sizeof *grown);
    CHECK(grown, OUT_OF_MEMORY);
    node->dependencies = grown;
    node->dependencies[node->dependency_count++] = dependency;
    return SUCCESS;
}

static void free_nodes(Graph *graph) {
    for (Node *node = graph->first, *next; node; node = next) {
        next = node->next;
        free(node->dependencies);
        free(node->data);
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
    Node *before = graph->last;
    Result result = append(graph, type, call, data, size);
    if (!result && before && stream != &node_stream) result = add_dependency(graph->last, before);
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

static Result do_nothing(void *data, Stream *stream) {
    (void)data, (void)stream;
    return SUCCESS;
}

/* The memory is there from the capture on, and is only marked as freed. */
static Result allocate_again(void *data, Stream *stream) {
    (void)stream;
    Region *region = find_start(*(const Address *)data);
    CHECK(region, INVALID_VALUE);
    region->is_freed = false;
    return SUCCESS;
}

static Result free_deferred(void *data, Stream *stream) {
    (void)stream;
    Region *region = find_start(*(const Address *)data);
    return region && region->is_of_graph ? give_back(region) : SUCCESS;
}

Result record_allocation(Stream *stream, Address address) {
    Region *region = find_start(address);
    UserObject *object = malloc(sizeof *object);
    Allocation *allocation = malloc(sizeof *allocation);
    CHECK(object && allocation, OUT_OF_MEMORY);
    *allocation = (Allocation){address, region->number, region->size};
    *object = (UserObject){USER_OBJECT, 1, allocation, end_allocation};
    region->is_of_graph = true;
    graph_bytes += region->size;
    if (graph_bytes > most_graph_bytes) most_graph_bytes = graph_bytes;
    Result result = record_call(stream, ALLOCATION_NODE, allocate_again, &address, sizeof address);
    return result ? result : lend(stream->graph, object, 1);
}

Result record_free(Stream *stream, Address address) {
    CHECK(find_start(address), INVALID_VALUE);
    return record_call(stream, FREE_NODE, free_deferred, &address, sizeof address);
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

static bool may_follow(const Node *node) {
    for (size_t index = 0; index < node->dependency_count; index++)
        if (!node->dependencies[index]->copy) return false;
    return true;
}

static Result copy_node(Graph *graph, Node *node) {
    Result result = append(graph, node->type, node->call, node->data, node->size);
    if (result) return result;
    node->copy = graph->last;
    node->copy->source = node;
    for (size_t index = 0; index < node->dependency_count && !result; index++)
        result = add_dependency(node->copy, node->dependencies[index]->copy);
    return result;
}

static Result destroy(Graph *graph) {
    free_nodes(graph);
    graph->kind = 0;
    return SUCCESS;
}

/* The copy's nodes are in an order that its edges allow: always the earliest node that may follow. */
static Result copy_graph(Graph **copy, const Graph *graph, uint32_t kind) {
    Graph *made = calloc(1, sizeof *made);
    Result result = made ? SUCCESS : OUT_OF_MEMORY;
    for (Node *node = graph->first; node; node = node->next) node->copy = NULL;
    for (Node *start = graph->first; start && !result;) {
        Node *node = start;
        while (node && (node->copy || !may_follow(node))) node = node->next;
        result = node ? copy_node(made, node) : INVALID_VALUE; /* the edges form a cycle */
        while (start && start->copy) start = start->next;
    }
    for (const Loan *loan = graph->loans; loan && !result; loan = loan->next) {
        loan->object->references += loan->count;
        result = lend(made, loan->object, loan->count);
    }
    if (!result) made->kind = kind;
    else if (made) destroy(made);
    *copy = result ? NULL : made;
    return result;
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

EXPORTED Result cuGraphDestroy(Graph *graph) { GRAPH_CALL(graph, GRAPH, true); return destroy(graph); }
EXPORTED Result cuGraphExecDestroy(Graph *instance) { GRAPH_CALL(instance, GRAPH_INSTANCE, true); return destroy(instance); }

EXPORTED Result cuGraphExecUpdate_v2(Graph *instance, Graph *graph, int *result_info) {
    enum { INFO_BYTES = 24, TOPOLOGY_CHANGED = 2 };
    Graph *copy;
    GRAPH_CALL(graph, GRAPH, IS(instance, GRAPH_INSTANCE) && result_info);
    memset(result_info, 0, INFO_BYTES);
    Result result = copy_graph(&copy, graph, 0);
    if (result) return result;
    Node *old = instance->first, *new = copy->first;
    while (old && new && old->type == new->type) {
        new->source = old->source;
        old = old->next, new = new->next;
    }
    if (old || new) {
        destroy(copy);
        *result_info = TOPOLOGY_CHANGED;
        return UPDATE_FAILURE;
    }
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

/* --- nodes that a program adds or changes itself ------------------------------------------------------------------------ */

/* The calls that nodes are recorded from. */
Result cuLaunchKernel(struct Function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                      unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra);
Result cuLaunchHostFunc(void *stream, void (*function)(void *), void *data);
Result cuMemcpy3DAsync_v2(const void *copy, void *stream);
Result cuMemsetD2D8Async(Address target, size_t pitch, unsigned char value, size_t width, size_t height, void *stream);
Result cuMemsetD2D16Async(Address target, size_t pitch, unsigned short value, size_t width, size_t height, void *stream);
Result cuMemsetD2D32Async(Address target, size_t pitch, unsigned value, size_t width, size_t height, void *stream);
Result cuMemAllocAsync(Address *address, size_t size, void *stream);
Result cuMemFreeAsync(Address address, void *stream);

static Result begin_node(Graph *graph, Node *const *dependencies, size_t count) {
    GRAPH_CALL(graph, GRAPH, dependencies || !count);
    for (size_t index = 0; index < count; index++) CHECK(dependencies[index] && dependencies[index]->graph == graph, INVALID_VALUE);
    node_stream = (Stream){.kind = STREAM, .flags = 1, .context = current_context(), .graph = graph, .is_unjoined = true};
    return SUCCESS;
}

static Result end_node(Result result, Node **node, Node *const *dependencies, size_t count) {
    Node *added = node_stream.graph->last;
    node_stream.graph = NULL;
    for (size_t index = 0; index < count && !result; index++) result = add_dependency(added, dependencies[index]);
    if (!result) *node = added; /* last: it may lie among the dependencies */
    return result;
}

/* Add the node that a call on `node_stream` records. */
#define ADD_NODE(condition, call)                                                                                     \
    ({                                                                                                                \
        Result begun_ = node && (condition) ? begin_node(graph, dependencies, count) : INVALID_VALUE;                 \
        begun_ ? begun_ : end_node(call, node, dependencies, count);                                                  \
    })

static Result end_change(Result result, Graph *recorded, Node *node) {
    node_stream.graph = NULL;
    if (!result && recorded->first->type != node->type) result = INVALID_VALUE;
    if (!result) {
        void *data = node->data;
        node->call = recorded->first->call, node->data = recorded->first->data, node->size = recorded->first->size;
        recorded->first->data = data;
    }
    free_nodes(recorded);
    return result;
}

/* Let a node do what a call on `node_stream` records. */
#define CHANGE_NODE(changed, condition, call)                                                                         \
    ({                                                                                                                \
        Graph recorded_ = {.kind = GRAPH};                                                                            \
        Node *changed_ = changed;                                                                                     \
        Result begun_ = changed_ && (condition) ? begin_node(&recorded_, NULL, 0) : INVALID_VALUE;                    \
        begun_ ? begun_ : end_change(call, &recorded_, changed_);                                                     \
    })

static Node *node_of(const Graph *instance, const Node *source) {
    if (!source || !IS(instance, GRAPH_INSTANCE)) return NULL;
    Node *node = instance->first;
    while (node && node->source != source) node = node->next;
    return node;
}

typedef struct {
    void *function;
    unsigned grid[3], block[3], shared;
    void **parameters, **extra;
    void *kernel, *context;
} KernelParams;

typedef struct {
    Address target;
    size_t pitch;
    unsigned value, unit;
    size_t width, height;
} FillParams;

typedef struct {
    void (*function)(void *);
    void *data;
} HostParams;

typedef struct {
    unsigned char properties[88];
    const void *access;
    size_t access_count, size;
    Address address;
} AllocationParams;

static Result record_launch(const KernelParams *given) {
    return cuLaunchKernel(given->function ? given->function : given->kernel, given->grid[0], given->grid[1], given->grid[2],
                          given->block[0], given->block[1], given->block[2], given->shared, &node_stream, given->parameters,
                          given->extra);
}

static Result record_fill(const FillParams *given) {
    size_t pitch = given->height > 1 ? given->pitch : 0;
    if (given->unit == 1) return cuMemsetD2D8Async(given->target, pitch, (unsigned char)given->value, given->width, given->height, &node_stream);
    if (given->unit == 2) return cuMemsetD2D16Async(given->target, pitch, (unsigned short)given->value, given->width, given->height, &node_stream);
    CHECK(given->unit == 4, INVALID_VALUE);
    return cuMemsetD2D32Async(given->target, pitch, given->value, given->width, given->height, &node_stream);
}

EXPORTED Result cuGraphCreate(Graph **graph, unsigned flags) {
    MUST_BE_READY();
    CHECK(graph && !flags, INVALID_VALUE);
    *graph = calloc(1, sizeof **graph);
    CHECK(*graph, OUT_OF_MEMORY);
    (*graph)->kind = GRAPH;
    return SUCCESS;
}

#define WHERE Node **node, Graph *graph, Node *const *dependencies, size_t count

EXPORTED Result cuGraphAddKernelNode_v2(WHERE, const KernelParams *given) { return ADD_NODE(given, record_launch(given)); }
EXPORTED Result cuGraphKernelNodeSetParams_v2(Node *node, const KernelParams *given) { return CHANGE_NODE(node, given, record_launch(given)); }
EXPORTED Result cuGraphExecKernelNodeSetParams_v2(Graph *instance, Node *node, const KernelParams *given) {
    return CHANGE_NODE(node_of(instance, node), given, record_launch(given));
}

EXPORTED Result cuGraphAddMemcpyNode(WHERE, const void *given, Context *context) {
    (void)context;
    return ADD_NODE(given, cuMemcpy3DAsync_v2(given, &node_stream));
}
EXPORTED Result cuGraphMemcpyNodeSetParams(Node *node, const void *given) { return CHANGE_NODE(node, given, cuMemcpy3DAsync_v2(given, &node_stream)); }
EXPORTED Result cuGraphExecMemcpyNodeSetParams(Graph *instance, Node *node, const void *given, Context *context) {
    (void)context;
    return CHANGE_NODE(node_of(instance, node), given, cuMemcpy3DAsync_v2(given, &node_stream));
}

EXPORTED Result cuGraphAddMemsetNode(WHERE, const FillParams *given, Context *context) {
    (void)context;
    return ADD_NODE(given, record_fill(given));
}
EXPORTED Result cuGraphMemsetNodeSetParams(Node *node, const FillParams *given) { return CHANGE_NODE(node, given, record_fill(given)); }
EXPORTED Result cuGraphExecMemsetNodeSetParams(Graph *instance, Node *node, const FillParams *given, Context *context) {
    (void)context;
    return CHANGE_NODE(node_of(instance, node), given, record_fill(given));
}

EXPORTED Result cuGraphAddHostNode(WHERE, const HostParams *given) { return ADD_NODE(given, cuLaunchHostFunc(&node_stream, given->function, given->data)); }
EXPORTED Result cuGraphHostNodeSetParams(Node *node, const HostParams *given) {
    return CHANGE_NODE(node, given, cuLaunchHostFunc(&node_stream, given->function, given->data));
}
EXPORTED Result cuGraphExecHostNodeSetParams(Graph *instance, Node *node, const HostParams *given) {
    return CHANGE_NODE(node_of(instance, node), given, cuLaunchHostFunc(&node_stream, given->function, given->data));
}

EXPORTED Result cuGraphAddEmptyNode(WHERE) { return ADD_NODE(true, record_call(&node_stream, EMPTY_NODE, do_nothing, NULL, 0)); }
EXPORTED Result cuGraphAddMemAllocNode(WHERE, AllocationParams *given) {
    return ADD_NODE(given, cuMemAllocAsync(&given->address, given->size, &node_stream));
}
EXPORTED Result cuGraphAddMemFreeNode(WHERE, Address address) { return ADD_NODE(true, cuMemFreeAsync(address, &node_stream)); }

EXPORTED Result cuGraphAddDependencies_v2(Graph *graph, Node *const *from, Node *const *to, const void *edges, size_t count) {
    GRAPH_CALL(graph, GRAPH, (from && to) || !count);
    if (edges) return missing("data of a graph's edges");
    Result result = SUCCESS;
    for (size_t index = 0; index < count && !result; index++) {
        CHECK(from[index] && to[index] && from[index]->graph == graph && to[index]->graph == graph, INVALID_VALUE);
        result = add_dependency(to[index], from[index]);
    }
    return result;
}

EXPORTED Result cuGraphAddDependencies(Graph *graph, Node *const *from, Node *const *to, size_t count) {
    return cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}

/* --- what a program lends to graphs ------------------------------------------------------------------------------------- */

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
