/* Contents of a chosen launch: the memory that its parameters lead to, and its module's variables. */
#define _GNU_SOURCE
#include "library.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { MOST_REGIONS = 1024, MOST_POINTERS = 4096, PIECE = 8 << 20 };

/* A stretch of device memory: an allocation or a part of it, or a variable. */
typedef struct {
    Address base; /* of the allocation */
    uint64_t size;
    Address start; /* of what is kept */
    uint64_t length;
    int type;
    bool is_managed;
    int device;
    const char *symbol; /* a variable's name, else null */
    bool is_kept;
    Address holds; /* an address of device memory that was found in it, else 0 */
    uint64_t holds_at;
} Region;

typedef struct {
    uint64_t at; /* in the parameter space */
    Address address;
    unsigned region;
} Pointer;

static Region regions[MOST_REGIONS];
static unsigned region_count;
static Pointer pointers[MOST_POINTERS];
static unsigned pointer_count;
static char *piece;

/* The allocation that an address lies in; false where it lies in none. */
static bool find_allocation(Address address, Region *found)
{
    int attributes[] = {POINTER_RANGE_START, POINTER_RANGE_SIZE, POINTER_MEMORY_TYPE, POINTER_IS_MANAGED, POINTER_DEVICE};
    Address start = 0;
    size_t size = 0;
    unsigned type = 0, managed = 0;
    int device = -1;
    void *data[] = {&start, &size, &type, &managed, &device};
    if (address < 4096 || !driver.pointer_get_attributes ||
        driver.pointer_get_attributes(5, attributes, data, address) != 0 || !type || !size || address < start ||
        address - start >= size)
        return false;
    *found = (Region){.base = start, .size = size, .start = start, .length = size, .type = (int)type,
                      .is_managed = (managed & 255) != 0, .device = device};
    return true;
}

/* The region of an allocation. */
static int region_of(const Region *wanted)
{
    for (unsigned i = 0; i < region_count; i++)
        if (!regions[i].symbol && regions[i].base == wanted->base)
            return (int)i;
    if (region_count == MOST_REGIONS)
        return -1;
    regions[region_count] = *wanted;
    return (int)region_count++;
}

static void find_pointers(const Launch *launch)
{
    const Function *function = launch->function;
    for (unsigned i = 0; i < function->count; i++) {
        size_t first = (function->offsets[i] + 7) & ~(size_t)7, end = function->offsets[i] + function->sizes[i];
        for (size_t at = first; at + 8 <= end; at += 8) {
            Address address;
            Region found;
            memcpy(&address, launch->values + at, 8);
            int region = find_allocation(address, &found) ? region_of(&found) : -1;
            if (region >= 0 && pointer_count < MOST_POINTERS)
                pointers[pointer_count++] = (Pointer){at, address, (unsigned)region};
        }
    }
}

static void find_variables(const Function *function)
{
    const char *names[MOST_SYMBOLS];
    unsigned count = list_variables(function->image, names);
    for (unsigned i = 0; i < count && region_count < MOST_REGIONS && driver.module_get_global; i++) {
        Address address = 0;
        size_t size = 0;
        if (driver.module_get_global(&address, &size, function->module, names[i]) != 0 || !size)
            continue;
        regions[region_count++] = (Region){.base = address, .size = size, .start = address, .length = size,
                                           .type = MEMORY_DEVICE, .device = -1, .symbol = names[i]};
    }
}

/* Share what may be kept of the kernel: small regions are kept whole, of large ones the part behind the pointer. */
static void share(Kernel *kernel)
{
    uint64_t room = request.max_bytes > kernel->kept_bytes ? request.max_bytes - kernel->kept_bytes : 0;
    unsigned left = region_count;
    bool is_done[MOST_REGIONS] = {false};
    for (unsigned round = 0; round < region_count; round++) {
        unsigned smallest = region_count;
        for (unsigned i = 0; i < region_count; i++)
            if (!is_done[i] && (smallest == region_count || regions[i].length < regions[smallest].length))
                smallest = i;
        Region *region = &regions[smallest];
        uint64_t part = room / left--;
        is_done[smallest] = true;
        if (region->length > part) {
            Address lowest = region->base + region->size;
            for (unsigned i = 0; i < pointer_count; i++)
                if (pointers[i].region == smallest && pointers[i].address < lowest)
                    lowest = pointers[i].address;
            region->start = region->symbol ? region->base : lowest & ~(Address)255;
            if (region->start < region->base)
                region->start = region->base;
            uint64_t behind = region->base + region->size - region->start;
            region->length = behind < part ? behind : part;
        }
        room -= region->length;
        kernel->kept_bytes += region->length;
    }
}

static void path_of(char *path, size_t room, uint64_t number, unsigned region, const char *when)
{
    snprintf(path, room, "%s/%d.%llu.%u.%s", request.folder, process_number, (unsigned long long)number, region, when);
}

/* Look for addresses of device memory among the contents: a kernel that follows them cannot be replayed. */
static void scan(Region *region, const char *data, size_t size, uint64_t at)
{
    unsigned asked = 0;
    for (size_t i = 0; i + 8 <= size && !region->holds && asked < 256; i += 8) {
        Address word;
        Region found;
        memcpy(&word, data + i, 8);
        if (word >> 47 || word < (1u << 20) || !(word >> 32))
            continue;
        asked++;
        if (find_allocation(word, &found) && found.type == MEMORY_DEVICE) {
            region->holds = word;
            region->holds_at = at + i;
        }
    }
}

/* Copy a region to a file of its own. */
static bool keep(Region *region, const char *path, bool is_before)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0)
        return false;
    bool is_whole = true;
    for (uint64_t done = 0; done < region->length && is_whole;) {
        size_t size = region->length - done < PIECE ? region->length - done : PIECE;
        is_whole = driver.memcpy_dtoh && driver.memcpy_dtoh(piece, region->start + done, size) == 0;
        if (is_whole && is_before)
            scan(region, piece, size, done);
        for (size_t written = 0; is_whole && written < size;) {
            ssize_t now_written = write(file, piece + written, size - written);
            is_whole = now_written > 0;
            written += is_whole ? (size_t)now_written : 0;
        }
        done += size;
    }
    close(file);
    if (!is_whole)
        unlink(path);
    return is_whole;
}

static void write_size(FILE *file, const char *name, const unsigned size[3])
{
    fprintf(file, ", \"%s\": [%u, %u, %u]", name, size[0], size[1], size[2]);
}

static void write_parameters(FILE *file, const Launch *launch)
{
    const Function *function = launch->function;
    fputs(", \"parameters\": [", file);
    for (unsigned i = 0; i < function->count; i++) {
        fprintf(file, "%s{\"offset\": %zu, \"size\": %zu, \"data\": \"", i ? ", " : "", function->offsets[i],
                function->sizes[i]);
        for (size_t at = 0; at < function->sizes[i]; at++)
            fprintf(file, "%02x", launch->values[function->offsets[i] + at]);
        fputs("\"}", file);
    }
    fputs("], \"pointers\": [", file);
    for (unsigned i = 0; i < pointer_count; i++)
        fprintf(file, "%s{\"at\": %llu, \"address\": %llu, \"region\": %u}", i ? ", " : "",
                (unsigned long long)pointers[i].at, (unsigned long long)pointers[i].address, pointers[i].region);
    fputs("]", file);
}

static void write_regions(FILE *file)
{
    fputs(", \"regions\": [", file);
    for (unsigned i = 0; i < region_count; i++) {
        const Region *region = &regions[i];
        fprintf(file,
                "%s{\"base\": %llu, \"size\": %llu, \"start\": %llu, \"length\": %llu, \"memory\": \"%s\", \"device\": %d, "
                "\"kept\": %s, \"symbol\": ",
                i ? ", " : "", (unsigned long long)region->base, (unsigned long long)region->size,
                (unsigned long long)region->start, (unsigned long long)region->length,
                region->is_managed ? "managed" : region->type == MEMORY_HOST ? "host" : "device", region->device,
                region->is_kept ? "true" : "false");
        if (region->symbol)
            write_text(file, region->symbol);
        else
            fputs("null", file);
        if (region->holds)
            fprintf(file, ", \"holds\": %llu, \"holds_at\": %llu", (unsigned long long)region->holds,
                    (unsigned long long)region->holds_at);
        fputs("}", file);
    }
    fputs("]", file);
}

/* The files that the process has mapped: one of them has the kernel's PTX. */
static void write_mapped_files(void)
{
    char path[4096], line[4600], last[4400] = "";
    snprintf(path, sizeof path, "%s/%d.maps", request.folder, process_number);
    FILE *maps = fopen("/proc/self/maps", "r"), *file = maps ? fopen(path, "w") : NULL;
    while (file && fgets(line, sizeof line, maps)) {
        char *name = strchr(line, '/');
        if (name && strcmp(name, last) != 0) {
            fputs(name, file);
            snprintf(last, sizeof last, "%s", name);
        }
    }
    if (file)
        fclose(file);
    if (maps)
        fclose(maps);
}

void keep_before(const Launch *launch, int device)
{
    char path[4096];
    const Function *function = launch->function;
    region_count = pointer_count = 0;
    if (!piece)
        piece = malloc(PIECE);
    if (!piece)
        return;
    find_pointers(launch);
    find_variables(function);
    share(function->kernel);
    for (unsigned i = 0; i < region_count; i++) {
        path_of(path, sizeof path, launch->number, i, "before");
        regions[i].is_kept = keep(&regions[i], path, true);
    }
    if (function->image)
        write_image(function->image);
    write_mapped_files();
    FILE *file = begin_record();
    if (!file)
        return;
    fprintf(file, "{\"event\": \"before\", \"number\": %llu, \"kernel\": ", (unsigned long long)launch->number);
    write_text(file, function->kernel->name);
    fprintf(file, ", \"occurrence\": %llu, \"device\": %d, \"image\": %llu",
            (unsigned long long)launch->occurrence, device,
            function->image ? (unsigned long long)function->image->id : 0);
    write_size(file, "grid", launch->grid);
    write_size(file, "block", launch->block);
    write_size(file, "cluster", launch->cluster);
    fprintf(file, ", \"shared\": %u, \"cooperative\": %s", launch->shared, launch->is_cooperative ? "true" : "false");
    write_parameters(file, launch);
    write_regions(file);
    fputs("}", file);
    end_record(file);
}

void keep_after(const Launch *launch, Result result)
{
    char path[4096];
    for (unsigned i = 0; i < region_count && result == 0; i++) {
        path_of(path, sizeof path, launch->number, i, "after");
        if (regions[i].is_kept && !keep(&regions[i], path, false))
            regions[i].is_kept = false;
    }
    FILE *file = begin_record();
    if (!file)
        return;
    fprintf(file, "{\"event\": \"after\", \"number\": %llu, \"result\": \"%s\"}", (unsigned long long)launch->number,
            result ? error_name(result) : "");
    end_record(file);
}

void give_up(const Launch *launch)
{
    FILE *file = begin_record();
    if (!file)
        return;
    fprintf(file, "{\"event\": \"given up\", \"number\": %llu}", (unsigned long long)launch->number);
    end_record(file);
}
