/* Progress of launches: which have finished, and which one to blame for an error.
 *
 * A launch is asynchronous, and an error is reported by a later call. After a launch its stream writes the launch's
 * number into memory of the host, so the first number that is missing is the launch that failed. These markers cost
 * time in the stream: they are given out from a budget, a share of the time that has passed. Without a marker the
 * launches since the last one are all that can be named.
 */
#include "library.h"

#include <pthread.h>
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
static Handle streams[MOST_STREAMS];
static unsigned stream_count;
static volatile uint32_t *markers; /* of each stream: the low bits of the last number that has finished */
static bool has_no_markers;
static double started;
static uint64_t spent;
static volatile bool is_blamed;

static unsigned slot_of(Handle stream)
{
    for (unsigned i = stream_count; i-- > 0;)
        if (streams[i] == stream)
            return i;
    if (stream_count == MOST_STREAMS)
        return MOST_STREAMS - 1;
    streams[stream_count] = stream;
    return stream_count++;
}

/* Whether a marker may be spent now. */
static bool has_budget(void)
{
    double time = now();
    if (!started)
        started = time;
    return (double)spent * COST < FIRST + (time - started) * SHARE;
}

static bool write_marker(Handle stream, unsigned slot, uint64_t number)
{
    if (has_no_markers || !driver.stream_write_value || slot == MOST_STREAMS - 1 || !has_budget())
        return false;
    if (!markers) {
        void *memory = NULL;
        if (!driver.mem_host_alloc ||
            driver.mem_host_alloc(&memory, MOST_STREAMS * 4, HOST_ALLOC_PORTABLE | HOST_ALLOC_MAPPED) != 0) {
            has_no_markers = true;
            return false;
        }
        memset(memory, 0, MOST_STREAMS * 4);
        markers = memory;
    }
    spent++;
    if (driver.stream_write_value(stream, (Address)(uintptr_t)&markers[slot], (uint32_t)number, 0) == 0)
        return true;
    has_no_markers = true;
    return false;
}

/* Whether a marker tells that a launch has finished; numbers are compared as a circle. */
static bool is_past(const Pending *launch)
{
    return markers && (int32_t)(markers[launch->stream] - (uint32_t)launch->number) >= 0 && markers[launch->stream];
}

/* Log the end of the launches that have finished. `stream` is one whose launches all have, or -1, or -2 for all. */
static void settle(int stream)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < count; i++) {
        if (stream == -2 || (int)pending[i].stream == stream || is_past(&pending[i]))
            log_end(pending[i].number, -1);
        else
            pending[kept++] = pending[i];
    }
    count = kept;
}

void note_launch(const Launch *launch)
{
    pthread_mutex_lock(&lock);
    if (!is_blamed) {
        unsigned slot = slot_of(launch->stream);
        bool has_marker = write_marker(launch->stream, slot, launch->number);
        if (count == MOST_PENDING)
            settle(-1);
        if (count == MOST_PENDING) { /* a stream holds some thousand launches, so the oldest have finished */
            for (unsigned i = 0; i < MOST_PENDING / 2; i++)
                log_end(pending[i].number, -1);
            memmove(pending, pending + MOST_PENDING / 2, (MOST_PENDING - MOST_PENDING / 2) * sizeof *pending);
            count = MOST_PENDING - MOST_PENDING / 2;
        }
        pending[count++] = (Pending){launch->number, slot, has_marker};
    }
    pthread_mutex_unlock(&lock);
}

void note_finished_stream(Handle stream)
{
    pthread_mutex_lock(&lock);
    if (!is_blamed)
        settle((int)slot_of(stream));
    pthread_mutex_unlock(&lock);
}

void note_finished_all(void)
{
    pthread_mutex_lock(&lock);
    if (!is_blamed)
        settle(-2);
    pthread_mutex_unlock(&lock);
}

void note_markers(void)
{
    pthread_mutex_lock(&lock);
    if (!is_blamed)
        settle(-1);
    pthread_mutex_unlock(&lock);
}

bool is_lost(void)
{
    return is_blamed;
}

/* Log a fault: of the first unfinished launch of each stream, and of those behind it up to its next marker. */
void blame(Result error)
{
    char text[400];
    unsigned suspects = 0;
    pthread_mutex_lock(&lock);
    if (is_blamed) {
        pthread_mutex_unlock(&lock);
        return;
    }
    is_blamed = true;
    settle(-1);
    static bool is_covered[MOST_STREAMS]; /* streams whose next marker is behind us */
    static bool is_suspect[MOST_PENDING];
    memset(is_covered, 0, sizeof is_covered);
    for (unsigned i = 0; i < count; i++) {
        is_suspect[i] = !is_covered[pending[i].stream];
        suspects += is_suspect[i];
        if (pending[i].has_marker)
            is_covered[pending[i].stream] = true;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!is_suspect[i])
            snprintf(text, sizeof text, "not run: an earlier launch had failed (%s)", error_name(error));
        else if (suspects == 1)
            snprintf(text, sizeof text, "%s", error_name(error));
        else
            snprintf(text, sizeof text, "%s: this launch or %u others that were under way; --sync tells which", error_name(error),
                     suspects - 1);
        log_text(is_suspect[i] ? "fault" : "retry", pending[i].number, text);
    }
    count = 0;
    pthread_mutex_unlock(&lock);
    FILE *file = begin_record();
    if (file) {
        fprintf(file, "{\"event\": \"error\", \"error\": \"%s\", \"suspects\": %u}", error_name(error), suspects);
        end_record(file);
    }
}
