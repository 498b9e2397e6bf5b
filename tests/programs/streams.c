/* Pairs of programs whose streams are ordered, and those that are not: what they compute, for test_stream_orders.py. */
#include "driver_program.h"
#include <stdbool.h>
int cuStreamCreate(void **, unsigned), cuStreamSynchronize(void *), cuStreamWaitEvent(void *, void *, unsigned);
int cuEventCreate(void **, unsigned), cuEventRecord(void *, void *), cuEventElapsedTime(float *, void *, void *);
int cuEventSynchronize(void *);
int cuMemcpyHtoDAsync_v2(Address, const void *, size_t, void *), cuMemcpyDtoHAsync_v2(void *, Address, size_t, void *);
int cuMemsetD8Async(Address, unsigned char, size_t, void *), cuMemFreeAsync(Address, void *);
int cuStreamBeginCapture_v2(void *, int), cuStreamEndCapture(void *, void **), cuGraphLaunch(void *, void *);
int cuGraphInstantiateWithFlags(void **, void *, uint64_t), cuMemGetInfo_v2(size_t *, size_t *);
int cuMemAllocAsync(Address *, size_t, void *);
int cuMemAllocManaged(Address *, size_t, unsigned), cuLaunchHostFunc(void *, void (*)(void *), void *);

static void *streams[2], *event;
static Address from, between, to;
static int *pinned, is_ordered;
static const char *pair;

/* Each pair has kernels of its own: a finding is reported once for each kernel. */
static void run(void *stream, Address target, Address source) {
    char text[1024];
    void *own, *function, *values[] = {&target, &source};
    snprintf(text, sizeof text, ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry %s%s(.param .u64 to, .param .u64 from) { .reg .b64 %%rd<3>; .reg .b32 %%r<2>;\n"
        "ld.param.u64 %%rd1, [to]; ld.param.u64 %%rd2, [from]; ld.global.u32 %%r1, [%%rd2];\n"
        "st.global.u32 [%%rd1], %%r1; ret; }\n", is_ordered ? "ordered_" : "", pair);
    CHECK(cuModuleLoadData(&own, text));
    CHECK(cuModuleEnumerateFunctions(&function, 1, own));
    CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, values, NULL));
}

static void order(void *first, void *second) {
    CHECK(cuEventRecord(event, first));
    CHECK(cuStreamWaitEvent(second, event, 0));
}

static void launches(void) {
    run(streams[0], between, from);
    if (is_ordered) order(streams[0], streams[1]);
    run(streams[1], to, between);
}

static void copy(void) {
    int values[] = {1};
    CHECK(cuMemcpyHtoDAsync_v2(between, values, 4, streams[0]));
    values[0] = 7; /* its value was read by the call */
    if (is_ordered) order(streams[0], streams[1]);
    run(streams[1], to, between);
}

static void fill(void) {
    CHECK(cuMemsetD8Async(between, 1, 1, streams[0]));
    if (is_ordered) order(streams[0], streams[1]);
    run(streams[1], to, between);
}

static void legacy(void) {
    void *stream;
    CHECK(cuStreamCreate(&stream, !is_ordered)); /* the legacy stream does not wait for one with the flag */
    run(stream, to, from);
    CHECK(cuMemcpyDtoH_v2(pinned, to, 4));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyHtoD_v2(to, pinned, 4));
}

/* To wait for the legacy stream is to wait for those that block it. */
static void legacy_wait(void) {
    void *stream;
    CHECK(cuStreamCreate(&stream, !is_ordered));
    run(stream, between, from);
    CHECK(cuStreamSynchronize(NULL));
    run(streams[1], to, between);
}

static void early_event(void) {
    if (!is_ordered) order(streams[0], streams[1]);
    launches();
}

static void unrecorded_event(void) {
    void *other;
    CHECK(cuEventCreate(&other, 0));
    if (is_ordered) other = event;
    run(streams[0], between, from);
    CHECK(cuEventRecord(event, streams[0]));
    CHECK(cuStreamWaitEvent(streams[1], other, 0));
    run(streams[1], to, between);
}

static void synchronized(void) {
    run(streams[0], between, from);
    CHECK(cuStreamSynchronize(streams[!is_ordered]));
    run(streams[1], to, between);
}

static void *in_thread(void *unused) {
    CHECK(cuCtxSetCurrent(context));
    run((void *)2, to, between);
    return NULL;
}

static void threads(void) {
    pthread_t thread;
    run((void *)2, between, from);
    if (is_ordered) CHECK(cuCtxSynchronize());
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
}

static void freed(void) {
    Address other = memory(4);
    run(streams[0], other, from);
    if (is_ordered) order(streams[0], streams[1]);
    CHECK(cuMemFreeAsync(other, streams[1]));
    CHECK(cuMemsetD8_v2(to, 1, 1));
}

/* What the program itself reads and writes is not seen by the search for races. */
static void host_reads(void) {
    Address managed;
    CHECK(cuMemAllocManaged(&managed, 4, 1));
    *(int *)managed = 0;
    run(streams[0], managed, from);
    if (is_ordered) CHECK(cuStreamSynchronize(streams[0]));
    CHECK(cuMemsetD8_v2(to, *(int *)managed, 1));
}

static void host_writes(void) {
    *pinned = 1;
    CHECK(cuMemcpyHtoDAsync_v2(to, pinned, 4, streams[0]));
    if (is_ordered) CHECK(cuStreamSynchronize(streams[0]));
    *pinned = 9;
}

static void host_fill(void) {
    *pinned = 0;
    if (is_ordered) CHECK(cuMemsetD8_v2((Address)pinned, 1, 1)); /* it waits, for the program sees this memory */
    else CHECK(cuMemsetD8Async((Address)pinned, 1, 1, streams[0]));
    CHECK(cuMemsetD8_v2(to, *pinned, 1));
}

static void increase(void *number) { ++*(int *)number; }

static void host_function(void) {
    *pinned = 0;
    CHECK(cuMemcpyDtoHAsync_v2(pinned, to, 4, streams[0]));
    if (is_ordered) order(streams[0], streams[1]);
    CHECK(cuLaunchHostFunc(streams[1], increase, pinned));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyHtoD_v2(to, pinned, 4));
}

/* A graph that is launched again waits for its last launch, on whatever stream that is. */
static void graph_launches(void) {
    void *graph, *instances[2];
    Address seen = memory(4);
    CHECK(cuStreamBeginCapture_v2(streams[0], 0));
    run(streams[0], to, between);
    CHECK(cuStreamEndCapture(streams[0], &graph));
    for (int index = 0; index < 2; index++) CHECK(cuGraphInstantiateWithFlags(&instances[index], graph, 0));
    run(streams[0], between, from);
    CHECK(cuGraphLaunch(instances[0], streams[0]));
    CHECK(cuGraphLaunch(instances[!is_ordered], streams[1]));
    run(streams[1], seen, to);
    CHECK(cuCtxSynchronize());
    run(streams[0], to, seen);
}

static void keep(void *number) { *(int *)number = *pinned; }

static void legacy_host_function(void) {
    void *stream;
    int seen;
    *pinned = 0;
    CHECK(cuStreamCreate(&stream, !is_ordered));
    run(stream, (Address)pinned, from);
    CHECK(cuLaunchHostFunc(NULL, keep, &seen));
    CHECK(cuMemsetD8_v2(to, seen, 1));
}

static void use_pool(void) {
    Address address;
    size_t available, total;
    CHECK(cuMemGetInfo_v2(&available, &total));
    for (int index = 0; index < 5; index++) {
        CHECK(cuMemAllocAsync(&address, total / 5 * 2, streams[0]));
        CHECK(cuMemsetD8Async(address, 1, 1, streams[0]));
        CHECK(cuMemFreeAsync(address, streams[0]));
        EXPECT(cuMemFreeAsync(address, streams[0]) == 1);
    }
}

/* What a program learns of its calls, in a queue or not: it uses again what it has freed, its launch is refused, and it
 * waits without a call. */
static int look(void) {
    void *function, *values[] = {&from, &to};
    CHECK(cuModuleGetFunction(&function, module, "copy"));
    EXPECT(cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, streams[0], values, NULL) == 1);
    CHECK(cuMemsetD8_v2(from, 1, 4));
    use_pool();
    *pinned = 0;
    pair = "look";
    run(NULL, (Address)pinned, from);
    while (*(volatile int *)pinned == 0) usleep(1000);
    return 0;
}

/* A call that waits for a launch that faults returns its error. */
static int wait_for_fault(const char *call) {
    int value;
    bool is_stream = strcmp(call, "cuStreamSynchronize") == 0, is_event = strcmp(call, "cuEventSynchronize") == 0;
    pair = "fault";
    run(is_stream || is_event ? streams[0] : NULL, 64, from);
    CHECK(cuEventRecord(event, streams[0]));
    if (is_stream) EXPECT(cuStreamSynchronize(streams[0]) == 700);
    else if (is_event) EXPECT(cuEventSynchronize(event) == 700);
    else EXPECT(cuMemcpyDtoH_v2(&value, to, 4) == 700);
    return 0;
}

static const struct { const char *name; void (*body)(void); } pairs[] = {
    {"launches", launches}, {"copy", copy}, {"fill", fill}, {"legacy", legacy}, {"early_event", early_event},
    {"unrecorded_event", unrecorded_event}, {"synchronized", synchronized}, {"threads", threads},
    {"host_fill", host_fill}, {"host_reads", host_reads}, {"host_writes", host_writes}, {"host_function", host_function}, {"freed", freed},
    {"graph_launches", graph_launches}, {"legacy_wait", legacy_wait}, {"legacy_host_function", legacy_host_function},
};

int main(int count, char **arguments) {
    float elapsed_ms;
    void *start_of_all;
    start();
    CHECK(cuMemHostAlloc((void **)&pinned, 4, 0));
    from = memory(4), between = memory(4), to = memory(4);
    CHECK(cuEventCreate(&event, 0));
    CHECK(cuEventCreate(&start_of_all, 0));
    for (int index = 0; index < 2; index++) CHECK(cuStreamCreate(&streams[index], 1));
    if (count > 1 && strcmp(arguments[1], "look") == 0) return look();
    if (count > 1 && arguments[1][0] == 'c') return wait_for_fault(arguments[1]);
    CHECK(cuEventRecord(start_of_all, streams[0]));
    for (size_t index = 0; index < sizeof pairs / sizeof *pairs; index++)
        for (is_ordered = 1; is_ordered >= 0; is_ordered--) {
            int value = 1;
            pair = pairs[index].name;
            if (strcmp(pair, "freed") == 0 && !is_ordered && count == 1) continue;
            CHECK(cuMemcpyHtoD_v2(from, &value, 4));
            CHECK(cuMemsetD8_v2(between, 0, 4));
            CHECK(cuMemsetD8_v2(to, 0, 4));
            CHECK(cuCtxSynchronize());
            pairs[index].body();
            CHECK(cuCtxSynchronize());
            CHECK(cuMemcpyDtoH_v2(&value, to, 4));
            printf("%s%s %d\n", is_ordered ? "ordered_" : "", pair, value);
            fflush(stdout);
        }
    CHECK(cuEventElapsedTime(&elapsed_ms, start_of_all, event));
    EXPECT(elapsed_ms > 0);
    return 0;
}
