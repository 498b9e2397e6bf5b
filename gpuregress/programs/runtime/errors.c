/* Errors: the last one of each thread, and the names and texts of all. */
#include "runtime.h"

static const struct {
    cudaError_t code;
    const char *name;
    const char *text;
} errors[] = {
#define ERROR(name, code, text) {code, #name, text},
#include "error_table.h"
#undef ERROR
};

static _Thread_local cudaError_t last_error;

/* Whether a context is lost with this error: every later call returns it, and it cannot be cleared. */
static bool is_sticky(cudaError_t code)
{
    switch (code) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
        return true;
    default:
        return false;
    }
}

cudaError_t record_error(cudaError_t code)
{
    if (code != cudaSuccess)
        last_error = code;
    return code;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t code = last_error;
    if (!is_sticky(code))
        last_error = cudaSuccess;
    return code;
}

const char *cudaGetErrorName(cudaError_t code)
{
    for (size_t row = 0; row < sizeof errors / sizeof *errors; row++)
        if (errors[row].code == code)
            return errors[row].name;
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t code)
{
    for (size_t row = 0; row < sizeof errors / sizeof *errors; row++)
        if (errors[row].code == code)
            return errors[row].text;
    return "unrecognized error code";
}
