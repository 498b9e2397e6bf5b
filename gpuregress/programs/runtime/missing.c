/* Every documented function that no other file of this library has: it says so, and returns "not supported".
 *
 * The definitions are weak, so that the linker takes another file's where there is one.
 */
#include "types.h"

__attribute__((visibility("hidden"))) cudaError_t record_error(cudaError_t code);

/* Exported by our driver: print the name of a function that is not supported once, and leave a mark, by which
 * `gpuregress exec` fails also where the program ignores the error. */
void gpuregress_report_missing(const char *name);

#define FUNCTION(name)                               \
    __attribute__((weak)) cudaError_t name(void)     \
    {                                                \
        gpuregress_report_missing(#name);            \
        return record_error(cudaErrorNotSupported);  \
    }
#include "function_table.h"
