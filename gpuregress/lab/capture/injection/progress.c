/* Progress of launches: which have finished, and which one to blame for an error.
 *
 * A launch is asynchronous, and an error is reported by a later call. After a launch its stream writes the launch's
 * number into memory of the host, so the first number that is missing is the launch that failed. These markers cost
 * time in the stream: they are given out from a budget, a share of the time that has passed. Without a marker the
 * launches since the last one are all that can be named.
 */
#include "library.h"

#include <math.h>
#include <string.h>

enum { MOST_PENDING = 16384, MOST_STREAMS = 1024 };

static const double SHARE = 0.02; /* of the time */
static const double COST = 1e-5; /* seconds of a marker, at the most */
static const double FIRST = 4e-3; /* the budget at the start, seconds */

typedef struct {
    uint64_t number;
    unsigned stream;
    bool has_marker;
} Pending;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Pending pending[MOST_PENDING];
static unsigned count;
static struct {
    Handle context, stream; /* each context has streams of its own with the handles 0, 1 and 2 */
} streams[MOST_STREAMS];
static unsigned stream_count;
static volatile uint32_t *markers; /* of each stream: the low bits of the last number that has finished */
static bool has_no_markers;
static uint64_t started_ns;
static uint64_t spent;
static Handle lost[MOST_CONTEXTS]; /* contexts that an error has ended */
static volatile unsigned lost_count;

bool is_lost(Handle context)
{
    for (unsigned i = 0; i < lost_count; i++)
        if (lost[i] == context)
            return true;
    return false;
}

static unsigned slot_of(Handle context, Handle stream)
{
    for (unsigned i = stream_count; i-- > 0;)
        if (streams[i].stream == stream && streams[i].context == context)
            return i;
    if (stream_count == MOST_STREAMS)
        return MOST_STREAMS - 1;
    streams[stream_count].context = context;
    streams[stream_count].stream = stream;
    return stream_count++;
}

/* Whether a marker may be spent now. */
static bool has_budget(uint64_t time_ns)
{
    if (!started_ns)
        started_ns = time_ns;
    return (double)spent * COST < FIRST + (double)(int64_t)(time_ns - started_ns) * 1e-9 * SHARE;
}

static bool write_marker(const Launch *launch, unsigned slot)
{
    if (has_no_markers || !driver.stream_write_value || slot == MOST_STREAMS - 1 || !has_budget(launch->time_ns))
        return false;
    if (!markers) {
        void *memory = NULL;
        int mode = relax_recording();
        has_no_markers = !driver.mem_host_alloc || driver.mem_host_alloc(&memory, MOST_STREAMS * 4,
                                                                         HOST_ALLOC_PORTABLE | HOST_ALLOC_MAPPED) != 0;
        restore_recording(mode);
        if (has_no_markers)
            return false;
        memset(memory, 0, MOST_STREAMS * 4);
        markers = memory;
    }
    spent++;
    if (driver.stream_write_value(launch->stream, (Address)(uintptr_t)&markers[slot], (uint32_t)launch->number, 0) == 0)
        return true;
    has_no_markers = true;
    return false;
}

/* Whether a marker tells that a launch has finished; numbers are compared as a circle. */
static bool is_past(const Pending *launch)
{
    return markers && (int32_t)(markers[launch->stream] - (uint32_t)launch->number) >= 0 && markers[launch->stream];
}

/* Log the end of the first `most` launches that have finished: by their markers, or as `is_finished` tells by stream. */
static void settle(const bool *is_finished, unsigned most)
{
    unsigned kept = 0;
    uint64_t first = 0, last = 0; /* those in a row have one record */
    for (unsigned i = 0; i < count; i++) {
        if (i >= most || !((is_finished && is_finished[pending[i].stream]) || is_past(&pending[i]))) {
            pending[kept++] = pending[i];
            continue;
        }
        if (first && pending[i].number != last + 1)
            log_end(first, last, NAN);
        if (!first || pending[i].number != last + 1)
            first = pending[i].number;
        last = pending[i].number;
    }
    if (first)
        log_end(first, last, NAN);
    count = kept;
}

static bool selected[MOST_STREAMS]; /* for `settle`; all false between calls */

void note_launch(const Launch *launch)
{
    pthread_mutex_lock(&lock);
    if (!is_lost(launch->context)) {
        unsigned slot = slot_of(launch->context, launch->stream);
        bool has_marker = write_marker(launch, slot);
        if (count % 1024 == 1023)
            settle(NULL, count);
        if (count == MOST_PENDING) { /* a stream holds some thousand launches, so the oldest have finished */
            memset(selected, true, sizeof selected);
            settle(selected, MOST_PENDING / 2);
            memset(selected, false, sizeof selected);
        }
        pending[count++] = (Pending){launch->number, slot, has_marker};
    }
    pthread_mutex_unlock(&lock);
}

void note_finished_stream(Handle context, Handle stream)
{
    pthread_mutex_lock(&lock);
    if (!is_lost(context) && count) {
        unsigned slot = slot_of(context, stream);
        selected[slot] = slot != MOST_STREAMS - 1; /* the last slot is of several streams */
        settle(selected, count);
        selected[slot] = false;
    }
    pthread_mutex_unlock(&lock);
}

void note_finished_all(Handle context)
{
    pthread_mutex_lock(&lock);
    if (!is_lost(context) && count) {
        for (unsigned i = 0; i < stream_count; i++)
            selected[i] = streams[i].context == context;
        settle(selected, count);
        memset(selected, false, sizeof selected);
    }
    pthread_mutex_unlock(&lock);
}

void note_markers(void)
{
    pthread_mutex_lock(&lock);
    settle(NULL, count);
    pthread_mutex_unlock(&lock);
}

/* Log a fault: of the first unfinished launch of each stream of a context, and of those behind it up to its next marker. */
void blame(Handle context, Result error)
{
    char text[400];
    unsigned suspects = 0, kept = 0;
    pthread_mutex_lock(&lock);
    if (is_lost(context) || lost_count == MOST_CONTEXTS) {
        pthread_mutex_unlock(&lock);
        return;
    }
    lost[lost_count] = context;
    lost_count++;
    settle(NULL, count);
    static bool is_covered[MOST_STREAMS]; /* streams whose next marker is behind us */
    static bool is_suspect[MOST_PENDING];
    memset(is_covered, 0, sizeof is_covered);
    for (unsigned i = 0; i < count; i++) {
        is_suspect[i] = streams[pending[i].stream].context == context && !is_covered[pending[i].stream];
        suspects += is_suspect[i];
        if (pending[i].has_marker)
            is_covered[pending[i].stream] = true;
    }
    for (unsigned i = 0; i < count; i++) {
        if (streams[pending[i].stream].context != context) {
            pending[kept++] = pending[i];
            continue;
        }
        if (!is_suspect[i])
            snprintf(text, sizeof text, "not run: an earlier launch had failed (%s)", error_name(error));
        else if (suspects == 1)
            snprintf(text, sizeof text, "%s", error_name(error));
        else
            snprintf(text, sizeof text, "%s: this launch or %u others that were under way; --sync shows which",
                     error_name(error), suspects - 1);
        log_text(is_suspect[i] ? RECORD_FAULT : RECORD_RETRY, pending[i].number, text);
    }
    count = kept;
    pthread_mutex_unlock(&lock);
    FILE *file = begin_record();
    if (file) {
        fprintf(file, "{\"event\": \"error\", \"error\": \"%s\", \"suspects\": %u}", error_name(error), suspects);
        end_record(file);
    }
}
