/* Records of what was captured: JSON lines, each one write. */
#define _GNU_SOURCE
#include "library.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *text;
static size_t size;

/* A stream in memory, whose text `end_record` appends to the file as one line. */
FILE *begin_record(void)
{
    pthread_mutex_lock(&lock);
    FILE *file = open_memstream(&text, &size);
    if (!file)
        pthread_mutex_unlock(&lock);
    return file;
}

void end_record(FILE *file)
{
    char path[4096];
    fputc('\n', file);
    fclose(file);
    snprintf(path, sizeof path, "%s/%d.jsonl", request.folder, process_number);
    int target = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (target >= 0) {
        off_t end = lseek(target, 0, SEEK_END);
        ssize_t written = write(target, text, size);
        if (written > 0 && (size_t)written < size && ftruncate(target, end) != 0)
            written = 0; /* a full disk; the reader drops a line that is cut short, if it is the last one */
        close(target);
    }
    free(text);
    pthread_mutex_unlock(&lock);
}

/* A JSON string. Bytes above 127 stand for Latin-1, as no name of a kernel has any. */
void write_text(FILE *file, const char *value)
{
    fputc('"', file);
    for (const unsigned char *at = (const unsigned char *)value; *at; at++) {
        if (*at == '"' || *at == '\\')
            fprintf(file, "\\%c", *at);
        else if (*at < ' ' || *at >= 127)
            fprintf(file, "\\u%04x", *at);
        else
            fputc(*at, file);
    }
    fputc('"', file);
}

void refuse(Kernel *kernel, const char *reason)
{
    if (kernel->is_refused)
        return;
    kernel->is_refused = true;
    FILE *file = begin_record();
    if (!file)
        return;
    fputs("{\"event\": \"refused\", \"kernel\": ", file);
    write_text(file, kernel->name);
    fputs(", \"reason\": ", file);
    write_text(file, reason);
    fputs("}", file);
    end_record(file);
}

void write_problem(const char *text)
{
    FILE *file = begin_record();
    if (!file)
        return;
    fputs("{\"event\": \"problem\", \"problem\": ", file);
    write_text(file, text);
    fputs("}", file);
    end_record(file);
}
