/* Device, managed, pinned and registered memory, and memory pools. */
#define _GNU_SOURCE
#include "driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shared_memory.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { LOW_SLOTS = 128 };
/* Slots of 1 TiB that lie in the address space of a process: memory whose address is the same on both sides. */

static Region regions[REGIONS];
static Region low_regions[LOW_SLOTS];
static Region *first_registered;
static uint64_t last_number;
static size_t in_use;
static bool has_visible;

bool sees_device_memory(void) { return has_visible; }

static size_t free_bytes(void) { return in_use < greeting.total_memory ? greeting.total_memory - in_use : 0; }

static Region *slot_of(Address address) {
    uint64_t slot = address >> REGION_SHIFT;
    if (slot < LOW_SLOTS) return &low_regions[slot];
    uint64_t number = slot * (uint64_t)GATHER & ((1ull << SLOT_BITS) - 1);
    if (slot >> SLOT_BITS || number >= REGIONS) return NULL;
    return &regions[number];
}

static Region *keep(Region found) {
    Region *region = slot_of(found.address);
    if (region) *region = found;
    return region;
}

Region *find_region(Address address) {
    Region *region = slot_of(address);
    if (!region) return NULL;
    if (!region->address && address >> REGION_SHIFT >= LOW_SLOTS) {
        /* Perhaps a variable of a module, which a kernel told the address of. */
        struct { uint64_t address, size, offset; } found;
        Answer answer;
        if (ASK(FIND, &answer, VALUE(address)) || answer.size != sizeof found) return NULL;
        memcpy(&found, answer.data, sizeof found);
        keep((Region){.address = found.address, .size = found.size, .host = shared_memory + found.offset,
                      .offset = found.offset, .kind = VARIABLE, .number = ++last_number});
    }
    if (!region->address || address < region->address || address - region->address > region->size) return NULL;
    return region;
}

Region *find_start(Address address) {
    Region *region = find_region(address);
    return region && region->address == address ? region : NULL;
}

char *device_bytes(Address address, size_t size) {
    Region *region = find_region(address);
    if (!region || size > region->size - (address - region->address)) return NULL;
    char *start = region->kind == REGISTERED_MEMORY ? region->user : region->host;
    return start + (address - region->address);
}

/* The registered memory that has bytes of a stretch. */
static Region *registered(const void *pointer, size_t size) {
    Region *region = first_registered;
    while (region && ((char *)pointer >= (char *)region->user + region->size || (char *)region->user >= (char *)pointer + size))
        region = region->next;
    return region;
}

bool is_host_address(Address address) { return address >> REGION_SHIFT < LOW_SLOTS; }

char *any_bytes(Address address, size_t size) {
    Region *region = slot_of(address);
    bool is_host = address >> REGION_SHIFT < LOW_SLOTS && !(region && region->address && find_region(address));
    return is_host ? (char *)address : device_bytes(address, size);
}

Address reachable(Address address) {
    if (find_region(address)) return address;
    Region *region = is_host_address(address) ? registered((void *)address, 1) : NULL;
    return region ? region->address + (address - (Address)region->user) : 0;
}

void note_written(Address address, size_t size) {
    SharedHead *head = (SharedHead *)shared_memory;
    if (is_host_address(address) || size == 0) return;
    lock(); /* Other threads write notes, too, and the server takes them while one waits for an answer. */
    uint64_t count = head->count;
    if (count > 0 && count <= NOTES && head->notes[count - 1][0] + head->notes[count - 1][1] == address) {
        head->notes[count - 1][1] += size;
    } else {
        if (count < NOTES) {
            head->notes[count][0] = address;
            head->notes[count][1] = size;
        }
        if (count <= NOTES) head->count = count + 1;
    }
    unlock();
}

/* Reserve addresses that are the same in the program and on the device; NULL where there are none left. */
static void *reserve_low(size_t size) {
    has_visible = true;
    for (uint64_t slot = 1; slot < LOW_SLOTS; slot++) {
        void *wanted = (void *)(slot << REGION_SHIFT | (Address)MIDDLE);
        if (low_regions[slot].address) continue;
        void *found = mmap(wanted, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (found == wanted) return found;
        if (found != MAP_FAILED) munmap(found, size);
    }
    return NULL;
}

Result allocate(Address *address, size_t size, unsigned kind, const char *call) {
    struct { uint64_t address, size; uint32_t kind, number; } request = {0, size, kind, 0};
    struct { uint64_t address, offset; } given;
    Answer answer;
    void *low = NULL;
    CHECK(address && size > 0, INVALID_VALUE);
    if (size > free_bytes() / 2) run_all_work(); /* it may free memory */
    CHECK(size <= free_bytes(), OUT_OF_MEMORY);
    lock();
    if (kind == MANAGED_MEMORY || kind == PINNED_MEMORY) {
        low = reserve_low(size);
        if (!low) {
            /* At another address, a kernel that is given the host's one would fail as if the program were wrong. */
            unlock();
            missing("more than about 100 allocations of managed and pinned memory at once");
            return OUT_OF_MEMORY;
        }
        request.address = (Address)low;
    }
    request.number = (uint32_t)++last_number;
    Result result = ASK(ALLOCATE, &answer, VALUE(request), {call, strlen(call)});
    if (!result && answer.size != sizeof given) result = UNKNOWN;
    if (!result) {
        memcpy(&given, answer.data, sizeof given);
        if (low && !map_shared(low, size, given.offset)) {
            ASK(FREE, NULL, VALUE(given.address));
            result = OUT_OF_MEMORY;
        }
    }
    if (!result) {
        keep((Region){.address = given.address, .size = size, .host = low ? low : shared_memory + given.offset,
                      .offset = given.offset, .kind = kind, .number = last_number, .context = current_context()});
        *address = given.address;
        in_use += size;
    } else if (low) {
        munmap(low, size);
    }
    unlock();
    return result;
}

Result release(Region *region) {
    run_all_work();
    Address address = region->address;
    Region old = *region;
    Result result = ASK(FREE, NULL, VALUE(address));
    if (address >> REGION_SHIFT < LOW_SLOTS) munmap((void *)address, region->size);
    Region **link = &first_registered;
    while (*link && *link != region) link = &(*link)->next;
    if (*link) *link = region->next;
    *region = (Region){0};
    in_use -= old.size < in_use ? old.size : in_use;
    return result;
}

void release_regions_of(Context *context) {
    for (size_t index = 0; index < REGIONS; index++)
        if (regions[index].context == context && regions[index].kind && regions[index].kind != VARIABLE) release(&regions[index]);
    for (size_t index = 0; index < LOW_SLOTS; index++)
        if (low_regions[index].context == context && low_regions[index].kind) release(&low_regions[index]);
}

/* --- variables of modules ------------------------------------------------------------------------------------------- */

Result map_variable(Address *address) {
    Region *region = find_region(*address);
    CHECK(region && region->kind == VARIABLE, UNKNOWN);
    if (!region->user) {
        struct { uint64_t low, address; } request = {0, region->address};
        void *low = reserve_low(region->size);
        CHECK(low, missing("more than about 100 allocations of managed and pinned memory at once"));
        request.low = (Address)low;
        Result result = ASK(PLACE, NULL, VALUE(request));
        CHECK(!result, result);
        CHECK(map_shared(low, region->size, region->offset), OUT_OF_MEMORY);
        region->user = low;
        keep((Region){.address = request.low, .size = region->size, .host = low, .offset = region->offset, .kind = MANAGED_MEMORY,
                      .number = ++last_number, .context = current_context()});
    }
    *address = (Address)region->user;
    return SUCCESS;
}

void forget_variables(void) {
    for (size_t index = 0; index < REGIONS; index++) {
        Region *region = &regions[index];
        Answer answer;
        if (region->kind != VARIABLE) continue;
        Result result = ASK(FIND, &answer, VALUE(region->address));
        if (!result && memcmp(answer.data + 16, &region->offset, 8) == 0 && memcmp(answer.data, &region->address, 8) == 0) continue;
        Region *alias = region->user ? find_start((Address)region->user) : NULL;
        if (alias) release(alias);
        *region = (Region){0};
    }
}

/* --- allocation ---------------------------------------------------------------------------------------------------- */

EXPORTED Result cuMemAlloc_v2(Address *address, size_t size) {
    MUST_BE_READY();
    Result result = check_captures(NULL, UNSAFE);
    if (result) return result;
    return allocate(address, size, DEVICE_MEMORY, "cuMemAlloc");
}

EXPORTED Result cuMemAllocPitch_v2(Address *address, size_t *pitch, size_t width, size_t height, unsigned element_bytes) {
    MUST_BE_READY();
    CHECK(pitch && width && height && (element_bytes == 4 || element_bytes == 8 || element_bytes == 16), INVALID_VALUE);
    size_t rows = width / 512 + (width % 512 != 0), size;
    CHECK(!__builtin_mul_overflow(rows, 512, pitch) && !__builtin_mul_overflow(*pitch, height, &size), OUT_OF_MEMORY);
    return allocate(address, size, DEVICE_MEMORY, "cuMemAllocPitch");
}

EXPORTED Result cuMemAllocManaged(Address *address, size_t size, unsigned flags) {
    MUST_BE_READY();
    CHECK(flags == 1 || flags == 2, INVALID_VALUE);
    return allocate(address, size, MANAGED_MEMORY, "cuMemAllocManaged");
}

Result give_back(Region *region) {
    if (!region->is_of_graph) return release(region);
    CHECK(!region->is_freed, INVALID_VALUE);
    region->is_freed = true;
    return SUCCESS;
}

static Result free_memory(Address address) {
    MUST_BE_READY();
    if (address == 0) return SUCCESS;
    lock();
    Region *region = find_start(address);
    Result result = INVALID_VALUE;
    if (region && (region->kind == DEVICE_MEMORY || region->kind == MANAGED_MEMORY || region->is_of_pool)) result = give_back(region);
    unlock();
    return result;
}

EXPORTED Result cuMemFree_v2(Address address) {
    Result result = check_captures(NULL, UNSAFE);
    if (result) return result;
    order_program_after_all(); /* it waits for the device */
    return free_memory(address);
}

static Result free_in_order(void *task, const Order *order) {
    Touched touched;
    memcpy(&touched, task, sizeof touched);
    tell_order(order, "cuMemFreeAsync", &touched, 1);
    lock();
    Region *region = find_start(touched.address);
    Result result = !region ? INVALID_VALUE : region->is_of_graph ? SUCCESS : release(region);
    unlock();
    return result;
}

EXPORTED Result cuMemFreeAsync(Address address, void *stream) {
    MUST_BE_READY();
    Stream *real = real_stream(stream);
    CHECK(real, INVALID_HANDLE);
    Region *region = find_start(address);
    CHECK(region && (region->kind == DEVICE_MEMORY || region->kind == MANAGED_MEMORY || region->is_of_pool), INVALID_VALUE);
    CHECK(!region->is_freed, INVALID_VALUE);
    if (is_capturing(real)) return record_free(real, address);
    region->is_freed = true;
    Touched touched = {address, region->size, true};
    return submit(real, free_in_order, &touched, sizeof touched, region->kind != DEVICE_MEMORY);
}

static Result allocate_host(void **pointer, size_t size, unsigned flags) {
    Address address = 0;
    MUST_BE_READY();
    CHECK(pointer && size > 0, INVALID_VALUE);
    Result result = allocate(&address, size, PINNED_MEMORY, "cuMemHostAlloc");
    if (result) return result;
    Region *region = find_start(address);
    region->flags = flags;
    *pointer = region->host;
    region->user = region->host;
    return SUCCESS;
}

Region *find_visible(Address address) {
    Region *region = find_region(address);
    return region && region->kind != DEVICE_MEMORY && region->kind != VARIABLE ? region : NULL;
}

static Region *find_host(const void *pointer) {
    Region *region = find_visible((Address)pointer);
    return region ? region : registered(pointer, 1);
}

EXPORTED Result cuMemHostAlloc(void **pointer, size_t size, unsigned flags) { return allocate_host(pointer, size, flags); }
EXPORTED Result cuMemAllocHost_v2(void **pointer, size_t size) { return allocate_host(pointer, size, 0); }

EXPORTED Result cuMemFreeHost(void *pointer) {
    MUST_BE_READY();
    Region *region = find_host(pointer);
    CHECK(region && region->kind == PINNED_MEMORY && region->host == pointer, INVALID_VALUE);
    return release(region);
}

EXPORTED Result cuMemHostGetDevicePointer_v2(Address *address, void *pointer, unsigned flags) {
    MUST_BE_READY();
    Region *region = find_host(pointer);
    CHECK(address && region && flags == 0, INVALID_VALUE);
    size_t offset = (size_t)((char *)pointer - (region->kind == REGISTERED_MEMORY ? (char *)region->user : region->host));
    *address = region->address + offset;
    return SUCCESS;
}

EXPORTED Result cuMemHostGetFlags(unsigned *flags, void *pointer) {
    MUST_BE_READY();
    Region *region = find_host(pointer);
    CHECK(flags && region, INVALID_VALUE);
    *flags = region->flags;
    return SUCCESS;
}

/* --- registered memory ---------------------------------------------------------------------------------------------
 *
 * The server cannot see the program's own pages, and pages that are put in their place would change what the program did
 * not register: the rest of a page, and what a child of fork sees. So a launch works on a copy in the shared memory.
 */

/* Copy within this process; false where the memory is not there, for instance freed and not unregistered. */
static bool copy_safely(void *target, const void *source, size_t size, bool is_write) {
    for (size_t done = 0; done < size;) {
        struct iovec mine = {(char *)(is_write ? source : target) + done, size - done};
        struct iovec users = {(char *)(is_write ? target : source) + done, size - done};
        ssize_t count = is_write ? process_vm_writev(getpid(), &mine, 1, &users, 1, 0)
                                 : process_vm_readv(getpid(), &mine, 1, &users, 1, 0);
        if (count > 0) {
            done += (size_t)count;
        } else if (count < 0 && errno != EFAULT) {
            memcpy(target, source, size); /* not allowed here */
            return true;
        } else {
            return false;
        }
    }
    return true;
}

void begin_launch_on_registered(void) {
    for (Region *region = first_registered; region; region = region->next) {
        region->before = malloc(region->size);
        if (region->before && copy_safely(region->host, region->user, region->size, false))
            memcpy(region->before, region->host, region->size);
    }
}

/* Only what the kernel has changed: another thread of the program may have written to the rest. */
void end_launch_on_registered(void) {
    enum { BLOCK = 4096 };
    for (Region *region = first_registered; region; region = region->next) {
        if (!region->before) continue;
        for (size_t start = 0; start < region->size; start += BLOCK) {
            size_t end = region->size - start < BLOCK ? region->size : start + BLOCK;
            if (memcmp(region->host + start, region->before + start, end - start) == 0) continue;
            for (size_t first = start; first < end;) {
                size_t last = first;
                while (last < end && region->host[last] != region->before[last]) last++;
                if (last > first) copy_safely((char *)region->user + first, region->host + first, last - first, true);
                first = last + 1;
            }
        }
        free(region->before);
        region->before = NULL;
    }
}

EXPORTED Result cuMemHostRegister_v2(void *pointer, size_t size, unsigned flags) {
    Address address;
    MUST_BE_READY();
    CHECK(pointer && size > 0 && !(flags & ~0xfu) && (Address)pointer <= UINT64_MAX - size, INVALID_VALUE);
    CHECK(is_host_address((Address)pointer + size), INVALID_VALUE);
    if (flags & 4) return missing("cuMemHostRegister of memory of an I/O device");
    lock();
    Region *low = find_region((Address)pointer);
    Result result = low || registered(pointer, size) ? ALREADY_REGISTERED : SUCCESS;
    if (!result) result = allocate(&address, size, REGISTERED_MEMORY, "cuMemHostRegister");
    if (!result) {
        Region *region = find_start(address);
        region->user = pointer;
        region->flags = flags;
        region->next = first_registered;
        first_registered = region;
        has_visible = true;
        if (!copy_safely(region->host, pointer, size, false)) {
            release(region);
            result = INVALID_VALUE;
        }
    }
    unlock();
    return result;
}

EXPORTED Result cuMemHostUnregister(void *pointer) {
    MUST_BE_READY();
    lock();
    Region *region = registered(pointer, 1);
    Result result = NOT_REGISTERED;
    if (region) result = region->user == pointer ? release(region) : INVALID_VALUE;
    unlock();
    return result;
}

/* --- questions ----------------------------------------------------------------------------------------------------- */

EXPORTED Result cuMemGetInfo_v2(size_t *available, size_t *total) {
    MUST_BE_READY();
    CHECK(available && total, INVALID_VALUE);
    *total = greeting.total_memory;
    *available = free_bytes();
    return SUCCESS;
}

EXPORTED Result cuMemGetAddressRange_v2(Address *start, size_t *size, Address address) {
    MUST_BE_READY();
    Region *region = find_region(address);
    CHECK(region, NOT_FOUND);
    if (start) *start = region->address;
    if (size) *size = region->size;
    return SUCCESS;
}

static Result pointer_attribute(void *data, int attribute, Address address) {
    Region *region = find_region(address);
    if (!region) region = find_host((void *)address);
    CHECK(data && region, INVALID_VALUE);
    bool is_device = region->kind == DEVICE_MEMORY || region->kind == VARIABLE || region->kind == MANAGED_MEMORY;
    size_t offset = region->kind == REGISTERED_MEMORY ? (size_t)((char *)address - (char *)region->user) : address - region->address;
    switch (attribute) {
    case 1: *(Context **)data = region->context ? region->context : primary_context(); break;
    case 2: *(unsigned *)data = is_device ? 2 : 1; break;
    case 3: *(Address *)data = region->address + offset; break;
    case 4:
        if (region->kind == DEVICE_MEMORY || region->kind == VARIABLE) return INVALID_VALUE;
        *(void **)data = region->kind == REGISTERED_MEMORY ? (char *)region->user + offset : region->host + offset;
        break;
    case 6: *(bool *)data = true; break;
    case 7: *(uint64_t *)data = region->number; break;
    case 8: *(bool *)data = region->kind == MANAGED_MEMORY; break;
    case 9: *(int *)data = 0; break;
    case 10: *(bool *)data = false; break;
    case 11: *(Address *)data = region->address; break;
    case 12: *(size_t *)data = region->size; break;
    case 13: *(bool *)data = true; break;
    case 14: *(uint64_t *)data = 0; break;
    case 15: *(bool *)data = false; break;
    case 16: *(int *)data = 3; break;
    case 17: *(void **)data = NULL; break;
    default: return INVALID_VALUE;
    }
    return SUCCESS;
}

EXPORTED Result cuPointerGetAttribute(void *data, int attribute, Address address) {
    MUST_BE_READY();
    return pointer_attribute(data, attribute, address);
}

EXPORTED Result cuPointerGetAttributes(unsigned count, int *attributes, void **data, Address address) {
    MUST_BE_READY();
    CHECK(attributes && data, INVALID_VALUE);
    bool is_known = find_region(address) || find_host((void *)address);
    for (unsigned index = 0; index < count; index++) {
        /* A pointer that is not known has zeros for attributes; the device's number is -2, as the manual says. */
        static const size_t sizes[] = {0, 8, 4, 8, 8, 16, 1, 8, 1, 4, 1, 8, 8, 1, 8, 1, 4, 8};
        int attribute = attributes[index];
        CHECK(attribute > 0 && attribute < (int)(sizeof sizes / sizeof *sizes), INVALID_VALUE);
        if (is_known && !pointer_attribute(data[index], attribute, address)) continue;
        memset(data[index], 0, sizes[attribute]);
        if (attribute == 9) *(int *)data[index] = -2;
    }
    return SUCCESS;
}

EXPORTED Result cuPointerSetAttribute(const void *value, int attribute, Address address) {
    MUST_BE_READY();
    CHECK(value && attribute == 6 && find_region(address), INVALID_VALUE);
    return SUCCESS;
}

/* Where managed memory lies makes no difference here. */
static Result advise(Address address, size_t size) {
    MUST_BE_READY();
    Region *region = find_region(address);
    CHECK(region && region->kind == MANAGED_MEMORY && device_bytes(address, size), INVALID_VALUE);
    return SUCCESS;
}

typedef struct { int type, id; } Location;

EXPORTED Result cuMemAdvise(Address address, size_t size, int advice, Device device) { (void)advice, (void)device; return advise(address, size); }
EXPORTED Result cuMemAdvise_v2(Address address, size_t size, int advice, Location location) { (void)advice, (void)location; return advise(address, size); }
EXPORTED Result cuMemPrefetchAsync(Address address, size_t size, Device device, void *stream) { (void)device, (void)stream; return advise(address, size); }
EXPORTED Result cuMemPrefetchAsync_v2(Address address, size_t size, Location location, unsigned flags, void *stream) {
    (void)location, (void)flags, (void)stream;
    return advise(address, size);
}

/* --- pools ---------------------------------------------------------------------------------------------------------- */

enum { PINNED_ALLOCATION = 1, MANAGED_ALLOCATION, DEVICE_LOCATION = 1 };

static Pool default_pool = {POOL, PINNED_ALLOCATION, DEVICE_LOCATION, 0, {1, 1, 1, 1}};

EXPORTED Result cuDeviceGetDefaultMemPool(Pool **pool, Device device) {
    CHECK(!ready(), ready());
    CHECK(is_device(device), INVALID_DEVICE);
    CHECK(pool, INVALID_VALUE);
    *pool = &default_pool;
    return SUCCESS;
}

static Pool *device_pool = &default_pool;

EXPORTED Result cuDeviceGetMemPool(Pool **pool, Device device) {
    Result result = cuDeviceGetDefaultMemPool(pool, device);
    if (!result) *pool = device_pool;
    return result;
}

EXPORTED Result cuDeviceSetMemPool(Device device, Pool *pool) {
    CHECK(!ready(), ready());
    CHECK(is_device(device), INVALID_DEVICE);
    CHECK(IS(pool, POOL), INVALID_VALUE);
    device_pool = pool;
    return SUCCESS;
}

typedef struct { int allocation, handles; Location location; void *security; size_t most; unsigned char rest[56]; } PoolProperties;

EXPORTED Result cuMemPoolCreate(Pool **pool, const PoolProperties *properties) {
    MUST_BE_READY();
    CHECK(pool && properties, INVALID_VALUE);
    if (properties->handles) return missing("memory pools that other processes share");
    CHECK(properties->allocation == PINNED_ALLOCATION || properties->allocation == MANAGED_ALLOCATION, INVALID_VALUE);
    *pool = calloc(1, sizeof **pool);
    CHECK(*pool, OUT_OF_MEMORY);
    **pool = (Pool){POOL, properties->allocation, properties->location.type, 0, {1, 1, 1, 1}};
    return SUCCESS;
}

EXPORTED Result cuMemPoolDestroy(Pool *pool) {
    MUST_BE_READY();
    CHECK(IS(pool, POOL) && pool != &default_pool, INVALID_VALUE);
    if (device_pool == pool) device_pool = &default_pool;
    pool->kind = 0;
    return SUCCESS;
}

EXPORTED Result cuMemPoolTrimTo(Pool *pool, size_t least) {
    (void)least;
    MUST_BE_READY();
    return IS(pool, POOL) ? SUCCESS : INVALID_VALUE;
}

EXPORTED Result cuMemPoolGetAttribute(Pool *pool, int attribute, void *value) {
    MUST_BE_READY();
    CHECK(IS(pool, POOL) && value, INVALID_VALUE);
    if (attribute >= 1 && attribute <= 3) *(int *)value = pool->reuse[attribute];
    else if (attribute == 4) *(uint64_t *)value = pool->threshold;
    else if (attribute >= 5 && attribute <= 8) *(uint64_t *)value = in_use;
    else if (attribute == 9) *(int *)value = pool->allocation;
    else if (attribute == 10) *(int *)value = 0;
    else if (attribute == 11) *(int *)value = 0;
    else if (attribute == 12) *(int *)value = pool->location;
    else if (attribute == 13) *(uint64_t *)value = 0;
    else return INVALID_VALUE;
    return SUCCESS;
}

EXPORTED Result cuMemPoolSetAttribute(Pool *pool, int attribute, void *value) {
    MUST_BE_READY();
    CHECK(IS(pool, POOL) && value, INVALID_VALUE);
    if (attribute >= 1 && attribute <= 3) pool->reuse[attribute] = *(int *)value;
    else if (attribute == 4) pool->threshold = *(uint64_t *)value;
    else CHECK((attribute == 6 || attribute == 8) && *(uint64_t *)value == 0, INVALID_VALUE);
    return SUCCESS;
}

typedef struct { Location location; int flags; } Access;

EXPORTED Result cuMemPoolSetAccess(Pool *pool, const Access *access, size_t count) {
    MUST_BE_READY();
    CHECK(IS(pool, POOL) && (access || !count), INVALID_VALUE);
    for (size_t index = 0; index < count; index++) CHECK(access[index].location.id == 0, INVALID_DEVICE);
    return SUCCESS;
}

EXPORTED Result cuMemPoolGetAccess(int *flags, Pool *pool, Location *location) {
    MUST_BE_READY();
    CHECK(flags && IS(pool, POOL) && location, INVALID_VALUE);
    *flags = location->id == 0 ? 3 : 0;
    return SUCCESS;
}

static Result allocate_of_pool(Address *address, size_t size, const Pool *pool, void *stream) {
    MUST_BE_READY();
    Stream *real = real_stream(stream);
    CHECK(real, INVALID_HANDLE);
    unsigned kind = pool->location == DEVICE_LOCATION ? DEVICE_MEMORY : PINNED_MEMORY;
    if (pool->allocation == MANAGED_ALLOCATION) kind = MANAGED_MEMORY;
    Result result = allocate(address, size, kind, "cuMemAllocAsync");
    if (result) return result;
    find_start(*address)->is_of_pool = true;
    return is_capturing(real) ? record_allocation(real, *address) : SUCCESS;
}

EXPORTED Result cuMemAllocAsync(Address *address, size_t size, void *stream) { return allocate_of_pool(address, size, device_pool, stream); }

EXPORTED Result cuMemAllocFromPoolAsync(Address *address, size_t size, Pool *pool, void *stream) {
    CHECK(IS(pool, POOL), INVALID_VALUE);
    return allocate_of_pool(address, size, pool, stream);
}
