/* Work of streams that is kept back until the program waits for it.
 *
 * Under a schedule that changes the order of streams, a launch, a copy or an event is kept in the queue of its stream.
 * When the program waits, the first ones of the queues run, one after the other, those alone whose vector clock says
 * that all before them is done. The schedule chooses among them. Under all other schedules work runs within its call.
 */
#define _GNU_SOURCE
#include "driver.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Work {
    struct Work *next; /* of its stream */
    Order order;
    uint64_t number;
    WorkFunction *run;
    max_align_t task[];
} Work;

enum Choice { UNKNOWN_YET, AS_CALLED, LAST_CALLED, DRAWN };

static enum Choice choice;
static uint64_t drawn;
static Work *first[STREAMS], *last[STREAMS];
static uint32_t done[STREAMS]; /* how much work of each stream */
static uint64_t called;        /* pieces of work, and waits for them */
static bool is_running;

bool keeps_work_back(void) {
    if (choice != UNKNOWN_YET) return choice != AS_CALLED;
    const char *order = setting("GPUREGRESS_EXEC_STREAM_ORDER");
    choice = !order || !*order ? AS_CALLED : strcmp(order, "last") == 0 ? LAST_CALLED : DRAWN;
    if (choice == DRAWN) drawn = strtoull(order, NULL, 10);
    return choice != AS_CALLED;
}

/* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014. */
static uint64_t draw(void) {
    uint64_t bits = drawn += 0x9E3779B97F4A7C15ull;
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9ull;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EBull;
    return bits ^ bits >> 31;
}

static bool is_done(const uint32_t *clock, uint32_t except) {
    for (uint32_t slot = 0; slot < STREAMS; slot++)
        if (slot != except && done[slot] < clock[slot]) return false;
    return true;
}

static Work *choose(void) {
    Work *ready[STREAMS], *newest = NULL;
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < STREAMS; slot++) {
        Work *work = first[slot];
        if (!work || !is_done(work->order.clock, slot)) continue;
        ready[count++] = work;
        if (!newest || work->number > newest->number) newest = work;
    }
    if (count == 0) return NULL;
    return choice == LAST_CALLED ? newest : ready[draw() % count];
}

/* What the program knows to be done, it knew before each piece of work that is still to come. */
static void forget_later_waits(Order *order) {
    for (uint32_t other = 0; other < STREAMS; other++)
        for (uint32_t slot = 0; first[other] && slot < STREAMS; slot++)
            if (first[other]->order.host[slot] < order->host[slot]) order->host[slot] = first[other]->order.host[slot];
}

static Result execute(WorkFunction *run, void *task, Order *order) {
    Result result = ready();
    forget_later_waits(order);
    is_running = true;
    if (!result) result = run(task, order);
    is_running = false;
    done[order->slot] = order->clock[order->slot];
    return result;
}

static void execute_next(Work *work) {
    uint32_t slot = work->order.slot;
    first[slot] = work->next;
    if (!work->next) last[slot] = NULL;
    Result result = execute(work->run, work->task, &work->order);
    if (result) fail_for_good(result);
    free(work);
}

void run_work_until(const uint32_t *clock) {
    Work *work;
    if (!keeps_work_back()) return; /* another thread may have the lock while its launch runs */
    lock();
    called++;
    while (!is_running && !is_done(clock, STREAMS) && (work = choose())) execute_next(work);
    unlock();
}

void run_all_work(void) {
    Work *work;
    if (!keeps_work_back()) return;
    lock();
    while (!is_running && (work = choose())) execute_next(work);
    unlock();
}

/* A program may wait for its work without a call: it looks at pinned memory until a kernel has written there. */
static void *release_in_time(void *unused) {
    uint64_t seen = 0;
    for (;; seen = called) {
        sleep(1);
        lock();
        if (called == seen) run_all_work();
        unlock();
    }
    return unused;
}

static bool start_release(void) {
    static bool is_started;
    sigset_t all, earlier;
    pthread_t thread;
    if (is_started) return true;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &earlier);
    is_started = pthread_create(&thread, NULL, release_in_time, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &earlier, NULL);
    return is_started;
}

static bool keep(const Order *order, WorkFunction *run, const void *task, size_t size) {
    Work *work = start_release() ? malloc(sizeof *work + size) : NULL;
    if (!work) return false;
    *work = (Work){.order = *order, .number = called, .run = run};
    memcpy(work->task, task, size);
    if (last[order->slot]) last[order->slot]->next = work;
    else first[order->slot] = work;
    last[order->slot] = work;
    return true;
}

Result submit(Stream *stream, WorkFunction *run, void *task, size_t size, bool is_waited_for) {
    Order order;
    if (!is_order_followed(stream)) return run(task, NULL);
    Result result = ready();
    if (result) return result;
    lock();
    called++;
    order_next_work(stream, &order);
    if (!keeps_work_back() || is_waited_for || !keep(&order, run, task, size)) {
        uint32_t before[STREAMS];
        memcpy(before, order.clock, sizeof before);
        before[order.slot]--;
        run_work_until(before);
        result = execute(run, task, &order);
    }
    unlock();
    return result;
}

/* What the program has not waited for is done, too, as it is where the program ends later than its GPU. */
__attribute__((destructor)) static void run_rest(void) {
    if (!ready()) run_all_work();
}
