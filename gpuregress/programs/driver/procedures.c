/* Every function of the driver API by its name: those that are not implemented say so. */
#include "driver.h"

#define EXPORT(name)                                                                                                  \
    EXPORTED __attribute__((weak)) Result name(void);                                                                 \
    Result name(void) { return missing(#name); }
#include "functions.h"
#undef EXPORT

/* With a default stream for each thread they are the same: no stream runs beside another one. */
#if defined(__x86_64__)
#define JUMP "jmp "
#define THROUGH_TABLE "@PLT"
#else
#define JUMP "b "
#define THROUGH_TABLE ""
#endif
#define FORWARD(name, target)                                                                                         \
    __asm__(".text\n.globl " #name "\n.type " #name ", %function\n" #name ": " JUMP #target THROUGH_TABLE "\n");
#include "functions.h"
#undef FORWARD

#define ENTRY(name, version, symbol) {#name, version, (void *)symbol},
const Procedure procedures[] = {
#include "functions.h"
};
#undef ENTRY


const size_t procedure_count = sizeof procedures / sizeof *procedures;
