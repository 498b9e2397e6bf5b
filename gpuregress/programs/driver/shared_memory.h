/* The memory that the program and its server share. Its first bytes tell the server what the program has written. */
#ifndef GPUREGRESS_SHARED_MEMORY_H
#define GPUREGRESS_SHARED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Given by the build: SHARED_BYTES, NOTES (rows of `notes`), REGION_SHIFT, SLOT_BITS, GATHER, MIDDLE, REGIONS. */

typedef struct {
    uint64_t count;          /* more than NOTES: some writes are not noted, all memory counts as written */
    uint64_t notes[][2];     /* address and size of a stretch that the program has written since the last launch */
} SharedHead;

extern char *shared_memory;
/* Map a stretch of it at a second address, in place of what is there. */
bool map_shared(void *target, size_t size, size_t offset);

#endif
