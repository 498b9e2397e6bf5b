/* What orders the work of streams, for the search for races between them.
 *
 * All work is done when its call returns. On a GPU, work of different streams runs at the same time unless an event, a
 * synchronisation or the legacy stream orders it. A vector clock of each stream and event, and of the program itself,
 * tells which work that is; the server is told the clock of each launch and copy, and what copies touch.
 */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    uint32_t slot, count;
    uint32_t host[STREAMS], clock[STREAMS];
} Order;

typedef struct {
    uint64_t address, size, is_write;
} Touched;

static uint32_t host_clock[STREAMS];
static uint32_t used; /* slots of streams that had work */
static bool is_on, is_lost;
static Stream *streams[STREAMS];
static _Thread_local Stream *running; /* the stream of the copy that is being done */
static Touched *touched;
static size_t touched_count, touched_room;

/* Begin to look for races, if they are asked for: the program has another stream than the legacy one. */
void begin_ordering(Stream *stream) {
    const char *checks = setting("GPUREGRESS_EXEC_CHECKS");
    if (!checks || !strstr(checks, "races") || is_lost) return;
    if (stream->id > STREAMS) {
        is_on = false;
        is_lost = true;
        complain("gpuregress: races between streams are no longer checked: the program has made more than %d streams", STREAMS);
        return;
    }
    is_on = true;
}

static void join(uint32_t *clock, const uint32_t *other) {
    for (uint32_t slot = 0; slot < used; slot++)
        if (other[slot] > clock[slot]) clock[slot] = other[slot];
}

static bool is_legacy(const Stream *stream) { return stream->id == 1; }
static bool is_blocking(const Stream *stream) { return !(stream->flags & 1); }

/* The work that is about to begin on a stream. The legacy stream and those that block it wait for each other. */
static void advance(Stream *stream) {
    uint32_t slot = (uint32_t)stream->id - 1;
    streams[slot] = stream;
    if (slot >= used) used = slot + 1;
    join(stream->clock, host_clock);
    for (uint32_t other = 0; other < used; other++)
        if (streams[other] && is_blocking(streams[other]) && is_blocking(stream) &&
            (is_legacy(stream) || is_legacy(streams[other])))
            join(stream->clock, streams[other]->clock);
    stream->clock[slot]++;
}

static void tell(const Stream *stream, const char *call) {
    Order order = {(uint32_t)stream->id - 1, used, {0}, {0}};
    memcpy(order.host, host_clock, sizeof order.host);
    memcpy(order.clock, stream->clock, sizeof order.clock);
    uint32_t length = (uint32_t)strlen(call);
    ASK(STREAM_WORK, NULL, VALUE(order), VALUE(length), {call, length}, {touched, touched_count * sizeof *touched});
}

void order_launch(Stream *stream) {
    if (!is_on || stream->id > STREAMS) return;
    touched_count = 0;
    advance(stream);
    tell(stream, "");
}

void begin_copy(Stream *stream) {
    if (!is_on || stream->id > STREAMS) return;
    lock();
    running = stream;
    touched_count = 0;
    advance(stream);
}

void note_touched(uint64_t address, size_t size, bool is_write) {
    if (!running) return;
    if (touched_count == touched_room) {
        touched_room = touched_room ? 2 * touched_room : 64;
        touched = realloc(touched, touched_room * sizeof *touched);
    }
    touched[touched_count++] = (Touched){address, size, is_write};
}

void end_copy(const char *call) {
    if (!running) return;
    if (touched_count) tell(running, call);
    running = NULL;
    unlock();
}

void order_event(Event *event, Stream *stream) {
    if (!is_on || stream->id > STREAMS) return;
    advance(stream);
    memcpy(event->clock, stream->clock, sizeof event->clock);
}

void order_after_event(Stream *stream, const Event *event) {
    if (is_on && stream->id <= STREAMS) join(stream->clock, event->clock);
}

void order_program_after_event(const Event *event) { join(host_clock, event->clock); }
void order_program_after_stream(const Stream *stream) { join(host_clock, stream->clock); }

void order_program_after_all(void) {
    for (uint32_t slot = 0; slot < used; slot++)
        if (streams[slot]) join(host_clock, streams[slot]->clock);
}
