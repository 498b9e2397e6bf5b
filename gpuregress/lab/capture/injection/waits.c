/* Waits for the GPU with a time limit.
 *
 * A kernel may wait for a later launch or for the host, and the driver's wait for it has no limit. So another thread
 * waits, and is left alone when it takes too long: it ends when the GPU is idle at last.
 */
#define _GNU_SOURCE
#include "library.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
    Handle context;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_done;
    bool is_left; /* nobody waits for the thread any more */
    Result result;
} Wait;

static void dispose(Wait *wait)
{
    pthread_mutex_destroy(&wait->lock);
    pthread_cond_destroy(&wait->changed);
    free(wait);
}

static void *wait_beside(void *given)
{
    Wait *wait = given;
    is_inside = true;
    Result result = driver.ctx_set_current(wait->context);
    if (result == 0)
        result = driver.ctx_synchronize();
    pthread_mutex_lock(&wait->lock);
    wait->result = result;
    wait->is_done = true;
    bool is_left = wait->is_left;
    pthread_cond_signal(&wait->changed);
    pthread_mutex_unlock(&wait->lock);
    if (is_left)
        dispose(wait);
    return NULL;
}

Result wait_for_gpu(Handle context)
{
    Wait *wait = request.wait > 0 && driver.ctx_set_current ? calloc(1, sizeof *wait) : NULL;
    pthread_t thread;
    if (!driver.ctx_synchronize)
        return 0;
    if (!wait)
        return driver.ctx_synchronize();
    wait->context = context;
    pthread_mutex_init(&wait->lock, NULL);
    pthread_cond_init(&wait->changed, NULL);
    if (!start_beside(&thread, wait_beside, wait)) {
        dispose(wait);
        return driver.ctx_synchronize();
    }
    pthread_detach(thread);
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    double end = (double)limit.tv_nsec * 1e-9 + request.wait;
    limit.tv_sec += (time_t)end;
    limit.tv_nsec = (long)((end - (double)(time_t)end) * 1e9);
    pthread_mutex_lock(&wait->lock);
    while (!wait->is_done && pthread_cond_timedwait(&wait->changed, &wait->lock, &limit) != ETIMEDOUT)
        ;
    bool is_done = wait->is_done;
    Result result = is_done ? wait->result : TOO_LONG;
    wait->is_left = true;
    pthread_mutex_unlock(&wait->lock);
    if (is_done)
        dispose(wait);
    return result;
}

int relax_recording(void)
{
    int mode = CAPTURE_MODE_RELAXED;
    if (!driver.thread_exchange_capture_mode || driver.thread_exchange_capture_mode(&mode) != 0)
        return -1;
    return mode;
}

void restore_recording(int mode)
{
    if (mode >= 0)
        driver.thread_exchange_capture_mode(&mode);
}
