/* What orders the work of streams, for the search for races between them and for schedules that change their order.
 *
 * On a GPU, work of different streams runs at the same time unless an event, a synchronisation or the legacy stream
 * orders it. A vector clock of each stream and event, and of the program itself, tells which work that is; the server is
 * told the clock of each launch and copy, and what copies touch.
 */
#include "driver.h"

#include <string.h>

static uint32_t host_clock[STREAMS];
static uint32_t used; /* slots of streams that had work */
static bool is_checked, is_lost;
static Stream *streams[STREAMS];

/* Begin to look for races, if they are asked for: the program has another stream than the legacy one. */
void begin_ordering(const Stream *stream) {
    const char *checks = setting("GPUREGRESS_EXEC_CHECKS");
    bool is_wanted = checks && strstr(checks, "races");
    if (is_lost || !(is_wanted || keeps_work_back())) return;
    lock();
    if (stream->id > STREAMS) {
        run_all_work();
        is_checked = false;
        is_lost = true;
        complain("gpuregress: races between streams are no longer checked, and their work runs as it is called: the program has "
                 "made more than %d streams", STREAMS);
    } else {
        is_checked = is_wanted;
    }
    unlock();
}

bool is_order_followed(const Stream *stream) {
    return !is_lost && (is_checked || keeps_work_back()) && stream->id <= STREAMS;
}

static void join(uint32_t *clock, const uint32_t *other) {
    for (uint32_t slot = 0; slot < used; slot++)
        if (other[slot] > clock[slot]) clock[slot] = other[slot];
}

static bool is_legacy(const Stream *stream) { return stream->id == 1; }
static bool is_blocking(const Stream *stream) { return !(stream->flags & 1); }

/* Add the work that the next work of a stream waits for: the legacy stream and those that block it wait for each other. */
static void join_earlier_work(uint32_t *clock, const Stream *stream) {
    join(clock, stream->clock);
    for (uint32_t other = 0; other < used; other++)
        if (streams[other] && is_blocking(streams[other]) && is_blocking(stream) &&
            (is_legacy(stream) || is_legacy(streams[other])))
            join(clock, streams[other]->clock);
}

void order_next_work(Stream *stream, Order *order) {
    uint32_t slot = (uint32_t)stream->id - 1;
    streams[slot] = stream;
    if (slot >= used) used = slot + 1;
    join(stream->clock, host_clock);
    join_earlier_work(stream->clock, stream);
    stream->clock[slot]++;
    *order = (Order){.slot = slot, .used = used};
    memcpy(order->host, host_clock, sizeof order->host);
    memcpy(order->clock, stream->clock, sizeof order->clock);
}

void tell_order(const Order *order, const char *call, const Touched *touched, size_t count) {
    if (!order || !is_checked) return;
    uint32_t length = (uint32_t)strlen(call);
    ASK(STREAM_WORK, NULL, {order, sizeof *order}, VALUE(length), {call, length}, {touched, count * sizeof *touched});
}

/* A job that dumps buffers at each synchronisation: the server is told of those that follow a launch. */
static bool has_unseen_launch;

void note_launch(void) {
    static int is_wanted = -1;
    if (is_wanted < 0) {
        const char *dumps = setting("GPUREGRESS_EXEC_DUMPS");
        is_wanted = dumps && strcmp(dumps, "synchronize") == 0;
    }
    has_unseen_launch = is_wanted;
}

static void tell_synchronization(void) {
    if (!has_unseen_launch) return;
    has_unseen_launch = false;
    ask(SYNCHRONIZED, NULL, 0, NULL);
}

static void order_program_after(const uint32_t *clock) {
    run_work_until(clock);
    join(host_clock, clock);
    tell_synchronization();
}

void order_after(Stream *stream, const uint32_t *clock) { join(stream->clock, clock); }
void order_program_after_event(const Event *event) { order_program_after(event->clock); }

/* Who waits for the legacy stream waits for those that block it, too, but not the other way round, as on an H200. */
void order_program_after_stream(const Stream *stream) {
    uint32_t clock[STREAMS] = {0};
    if (is_legacy(stream)) join_earlier_work(clock, stream);
    else join(clock, stream->clock);
    order_program_after(clock);
}

void run_work_before(const Stream *stream) {
    uint32_t clock[STREAMS] = {0};
    join_earlier_work(clock, stream);
    run_work_until(clock);
}

void order_program_after_all(void) {
    uint32_t clock[STREAMS] = {0};
    for (uint32_t slot = 0; slot < used; slot++)
        if (streams[slot]) join(clock, streams[slot]->clock);
    order_program_after(clock);
}
