/* Images of modules: the machine code that the driver loaded, what the program gave it, and the variables in it. */
#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FATBIN_WRAPPER = 0x466243b1 };
static const uint32_t FATBIN = 0xba55ed50;
static const size_t MOST_TEXT = 64 << 20; /* bytes of PTX */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Image *images;
static uint64_t last_id;
static __thread Image *newest; /* machine code that was loaded within the call that is under way */

static uint64_t digest_of(const char *data, size_t size)
{
    uint64_t digest = 0xcbf29ce484222325u; /* FNV-1a, on words */
    size_t at = 0;
    for (; at + 8 <= size; at += 8) {
        uint64_t word;
        memcpy(&word, data + at, 8);
        digest = (digest ^ word) * 0x100000001b3u;
        digest ^= digest >> 29;
    }
    for (; at < size; at++)
        digest = (digest ^ (unsigned char)data[at]) * 0x100000001b3u;
    return digest;
}

static void *copy_of(const void *data, size_t size)
{
    void *copy = malloc(size ? size : 1);
    if (copy)
        memcpy(copy, data, size);
    return copy;
}

/* A call begins that may load machine code. */
void begin_loading(void)
{
    newest = NULL;
}

void remember_cubin(const char *cubin, size_t size)
{
    Image *image = calloc(1, sizeof *image);
    if (!image || !cubin || !size)
        return;
    image->cubin = copy_of(cubin, size);
    image->cubin_size = image->cubin ? size : 0;
    image->digest = digest_of(cubin, size);
    pthread_mutex_lock(&lock);
    image->id = ++last_id;
    image->next = images;
    images = image;
    newest = image;
    pthread_mutex_unlock(&lock);
}

/* The size of a program's image in memory: ELF, fatbin or PTX; 0 where it is none of them. */
static size_t size_of(const unsigned char *image)
{
    uint32_t magic;
    memcpy(&magic, image, 4);
    if (magic == FATBIN) {
        uint16_t header;
        uint64_t body;
        memcpy(&header, image + 6, 2);
        memcpy(&body, image + 8, 8);
        return header + body;
    }
    if (memcmp(image, ELFMAG, SELFMAG) == 0) {
        const Elf64_Ehdr *elf = (const Elf64_Ehdr *)image;
        size_t end = elf->e_shoff + (size_t)elf->e_shentsize * elf->e_shnum;
        size_t segments = elf->e_phoff + (size_t)elf->e_phentsize * elf->e_phnum;
        return end > segments ? end : segments;
    }
    size_t length = strnlen((const char *)image, MOST_TEXT);
    return length > 8 && memmem(image, length < 65536 ? length : 65536, ".version", 8) ? length : 0;
}

static void read_given(Image *image, const void *given, bool is_path)
{
    if (is_path) {
        FILE *file = fopen(given, "rb");
        if (!file)
            return;
        fseek(file, 0, SEEK_END);
        long size = ftell(file);
        rewind(file);
        image->given = size > 0 ? malloc((size_t)size) : NULL;
        image->given_size = image->given ? fread(image->given, 1, (size_t)size, file) : 0;
        fclose(file);
        return;
    }
    const unsigned char *data = given;
    uint32_t magic;
    memcpy(&magic, data, 4);
    if (magic == FATBIN_WRAPPER)
        memcpy(&data, data + 8, 8);
    Dl_info info;
    image->given_size = size_of(data);
    /* A fatbin in a mapped file stays there, and libraries have a gigabyte of them: Python finds it in the file. */
    memcpy(&magic, data, 4);
    if (magic == FATBIN && dladdr(data, &info) && info.dli_fname)
        image->given_size = 0;
    image->given = image->given_size ? copy_of(data, image->given_size) : NULL;
}

void remember_loaded(Handle owner, const void *given, bool is_path)
{
    Image *image = newest;
    newest = NULL;
    if (request.is_log_only)
        return;
    if (!image) {
        image = calloc(1, sizeof *image);
        if (!image)
            return;
        pthread_mutex_lock(&lock);
        image->id = ++last_id;
        image->next = images;
        images = image;
        pthread_mutex_unlock(&lock);
    }
    image->owner = owner;
    if (given)
        read_given(image, given, is_path);
}

/* Handles may be given out again: none of the known ones is an owner any more. */
void forget_images(void)
{
    pthread_mutex_lock(&lock);
    for (Image *image = images; image; image = image->next)
        image->owner = NULL;
    pthread_mutex_unlock(&lock);
}

typedef struct {
    const Elf64_Shdr *sections;
    unsigned count;
    const char *names;
    size_t names_size;
    const Elf64_Sym *symbols;
    size_t symbol_count;
    const char *texts;
    size_t texts_size;
} Elf;

/* Read the tables of a cubin; false where it is cut short. */
static bool read_elf(const Image *image, Elf *elf)
{
    const char *data = image->cubin;
    size_t size = image->cubin_size;
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)data;
    memset(elf, 0, sizeof *elf);
    if (!data || size < sizeof *header || memcmp(data, ELFMAG, SELFMAG) != 0 || header->e_shoff > size ||
        (size - header->e_shoff) / sizeof(Elf64_Shdr) < header->e_shnum || header->e_shstrndx >= header->e_shnum)
        return false;
    elf->sections = (const Elf64_Shdr *)(data + header->e_shoff);
    elf->count = header->e_shnum;
    const Elf64_Shdr *names = &elf->sections[header->e_shstrndx];
    if (names->sh_offset > size || names->sh_size > size - names->sh_offset)
        return false;
    elf->names = data + names->sh_offset;
    elf->names_size = names->sh_size;
    for (unsigned i = 0; i < elf->count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (section->sh_type != SHT_SYMTAB || section->sh_link >= elf->count)
            continue;
        const Elf64_Shdr *texts = &elf->sections[section->sh_link];
        if (section->sh_offset > size || section->sh_size > size - section->sh_offset || texts->sh_offset > size ||
            texts->sh_size > size - texts->sh_offset)
            return false;
        elf->symbols = (const Elf64_Sym *)(data + section->sh_offset);
        elf->symbol_count = section->sh_size / sizeof(Elf64_Sym);
        elf->texts = data + texts->sh_offset;
        elf->texts_size = texts->sh_size;
    }
    return elf->symbols != NULL;
}

static const char *text_at(const char *texts, size_t size, size_t at)
{
    return at < size && memchr(texts + at, 0, size - at) ? texts + at : "";
}

static bool has_kernel(const Image *image, const char *kernel)
{
    Elf elf;
    if (!read_elf(image, &elf))
        return false;
    for (size_t i = 0; i < elf.symbol_count; i++) {
        const Elf64_Sym *symbol = &elf.symbols[i];
        if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
            strcmp(text_at(elf.texts, elf.texts_size, symbol->st_name), kernel) == 0)
            return true;
    }
    return false;
}

/* The image of a kernel: its module's or library's own, else the newest one that has a kernel of this name. */
Image *find_image(Handle module, Handle library, const char *kernel)
{
    Image *found = NULL, *given = NULL;
    pthread_mutex_lock(&lock);
    if (newest && has_kernel(newest, kernel))
        found = newest;
    for (Image *image = images; image && !(found && given); image = image->next) {
        bool is_owned = image->owner && (image->owner == module || image->owner == library);
        if (is_owned && !found && has_kernel(image, kernel))
            found = image;
        else if (is_owned && !given)
            given = image; /* a library whose machine code was loaded later */
    }
    for (Image *image = images; image && !found; image = image->next)
        if (has_kernel(image, kernel))
            found = image;
    if (found && given && !found->given && given->given) {
        found->given = copy_of(given->given, given->given_size);
        found->given_size = found->given ? given->given_size : 0;
    }
    pthread_mutex_unlock(&lock);
    return found ? found : given;
}

unsigned list_variables(const Image *image, const char *names[MOST_SYMBOLS])
{
    Elf elf;
    unsigned count = 0;
    if (!image || !read_elf(image, &elf))
        return 0;
    for (size_t i = 0; i < elf.symbol_count && count < MOST_SYMBOLS; i++) {
        const Elf64_Sym *symbol = &elf.symbols[i];
        if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_shndx >= elf.count || !symbol->st_size)
            continue;
        const char *section = text_at(elf.names, elf.names_size, elf.sections[symbol->st_shndx].sh_name);
        const char *name = text_at(elf.texts, elf.texts_size, symbol->st_name);
        bool is_memory = strncmp(section, ".nv.global", 10) == 0 || strncmp(section, ".nv.constant3", 13) == 0;
        if (is_memory && name[0] && name[0] != '$' && name[0] != '.' && strncmp(name, "__unnamed_", 10) != 0)
            names[count++] = name;
    }
    return count;
}

static void write_file(uint64_t id, const char *suffix, const char *data, size_t size)
{
    char path[4096];
    if (!data || !size)
        return;
    snprintf(path, sizeof path, "%s/%d.image%llu.%s", request.folder, process_number, (unsigned long long)id, suffix);
    FILE *file = fopen(path, "wb");
    if (!file)
        return;
    fwrite(data, 1, size, file);
    fclose(file);
}

void write_image(Image *image)
{
    if (image->is_written)
        return;
    image->is_written = true;
    write_file(image->id, "cubin", image->cubin, image->cubin_size);
    write_file(image->id, "given", image->given, image->given_size);
}
