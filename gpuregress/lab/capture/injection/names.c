/* Names of kernels, and patterns of them. */
#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

typedef char *(*Demangle)(const char *, char *, size_t *, int *);

/* The C++ library's demangler, if the process can load it. */
static Demangle demangler(void)
{
    static Demangle found;
    static bool tried;
    if (!tried) {
        tried = true;
        found = (Demangle)dlsym(RTLD_DEFAULT, "__cxa_demangle");
        void *library = found ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
        if (library)
            found = (Demangle)dlsym(library, "__cxa_demangle");
    }
    return found;
}

/* The identifiers of a mangled name up to its template arguments: `_ZN1a1kIfEEvv` gives `a::k` and, as `last`, `k`. */
static void plain_names(const char *mangled, char *whole, char *last, size_t room)
{
    whole[0] = last[0] = 0;
    if (strncmp(mangled, "_Z", 2) != 0)
        return;
    const char *at = mangled + 2;
    if (*at == 'N')
        at++;
    while (*at == 'L' || *at == 'K')
        at++;
    while (*at >= '0' && *at <= '9') {
        char *end;
        size_t length = strtoul(at, &end, 10);
        if (length > strlen(end) || strlen(whole) + length + 3 > room)
            return;
        if (whole[0])
            strcat(whole, "::");
        strncat(whole, end, length);
        memcpy(last, end, length);
        last[length] = 0;
        at = end + length;
        while (*at == 'L')
            at++;
    }
}

/* Match a C++ name with its parameters: whole, without its return type, without both. */
static bool matches_whole(char *text, const char *glob)
{
    int depth = 0;
    char *name = text, *end = NULL;
    if (fnmatch(glob, text, 0) == 0)
        return true;
    for (char *at = text; *at && !end; at++) {
        if (depth == 0 && *at == ' ')
            name = at + 1;
        if (depth == 0 && *at == '(' && strncmp(at, "(anonymous namespace)", 21) != 0)
            end = at;
        depth += (*at == '<' || *at == '(') - (*at == '>' || *at == ')');
    }
    if (fnmatch(glob, name, 0) == 0)
        return true;
    if (end)
        *end = 0;
    return fnmatch(glob, name, 0) == 0;
}

bool matches(const char *mangled, const char *glob)
{
    char whole[2048], last[2048];
    if (fnmatch(glob, mangled, 0) == 0)
        return true;
    plain_names(mangled, whole, last, sizeof whole);
    if (whole[0] && (fnmatch(glob, whole, 0) == 0 || fnmatch(glob, last, 0) == 0))
        return true;
    Demangle demangle = demangler();
    int status = 1;
    char *text = demangle ? demangle(mangled, NULL, NULL, &status) : NULL;
    bool found = text && matches_whole(text, glob);
    free(text);
    return found;
}

void escape(const char *text, char *target, size_t room)
{
    size_t used = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at && used + 5 < room; at++) {
        if (*at == '\\')
            used += (size_t)snprintf(target + used, room - used, "\\\\");
        else if (*at <= ' ' || *at >= 127)
            used += (size_t)snprintf(target + used, room - used, "\\x%02x", *at);
        else
            target[used++] = (char)*at;
    }
    target[used] = 0;
}

const char *error_name(Result error)
{
    const char *name = NULL;
    if (!driver.get_error_name || driver.get_error_name(error, &name) != 0 || !name)
        return "unknown error of the driver";
    return name;
}
