/* Stand-in for NVRTC: it compiles to PTX also where a program asks for machine code, and gives PTX for a cubin. */
#define _GNU_SOURCE
#include "real_library.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libnvrtc.so.13"
enum { INTERNAL_ERROR = 11 };

typedef int (*Call)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

static int forward(const char *name, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f) {
    Call call = (Call)real_function(LIBRARY, name);
    return call ? call(a, b, c, d, e, f) : INTERNAL_ERROR;
}

/* No function of NVRTC has more than six arguments, all of them integers or pointers. */
#define SAME(name, target)                                                                                            \
    EXPORTED int name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f) {                 \
        return forward(target, a, b, c, d, e, f);                                                                     \
    }

SAME(nvrtcVersion, "nvrtcVersion")
SAME(nvrtcGetNumSupportedArchs, "nvrtcGetNumSupportedArchs")
SAME(nvrtcGetSupportedArchs, "nvrtcGetSupportedArchs")
SAME(nvrtcCreateProgram, "nvrtcCreateProgram")
SAME(nvrtcDestroyProgram, "nvrtcDestroyProgram")
SAME(nvrtcGetPTXSize, "nvrtcGetPTXSize")
SAME(nvrtcGetPTX, "nvrtcGetPTX")
SAME(nvrtcGetCUBINSize, "nvrtcGetPTXSize")
SAME(nvrtcGetCUBIN, "nvrtcGetPTX")
SAME(nvrtcGetLTOIRSize, "nvrtcGetLTOIRSize")
SAME(nvrtcGetLTOIR, "nvrtcGetLTOIR")
SAME(nvrtcGetOptiXIRSize, "nvrtcGetOptiXIRSize")
SAME(nvrtcGetOptiXIR, "nvrtcGetOptiXIR")
SAME(nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize")
SAME(nvrtcGetProgramLog, "nvrtcGetProgramLog")
SAME(nvrtcAddNameExpression, "nvrtcAddNameExpression")
SAME(nvrtcGetLoweredName, "nvrtcGetLoweredName")
SAME(nvrtcGetPCHHeapSize, "nvrtcGetPCHHeapSize")
SAME(nvrtcSetPCHHeapSize, "nvrtcSetPCHHeapSize")
SAME(nvrtcGetPCHCreateStatus, "nvrtcGetPCHCreateStatus")
SAME(nvrtcGetPCHHeapSizeRequired, "nvrtcGetPCHHeapSizeRequired")
SAME(nvrtcSetFlowCallback, "nvrtcSetFlowCallback")
SAME(nvrtcGetTileIRSize, "nvrtcGetTileIRSize")
SAME(nvrtcGetTileIR, "nvrtcGetTileIR")
SAME(nvrtcInstallBundledHeaders, "nvrtcInstallBundledHeaders")
SAME(nvrtcGetBundledHeadersInfo, "nvrtcGetBundledHeadersInfo")
SAME(nvrtcRemoveBundledHeaders, "nvrtcRemoveBundledHeaders")

EXPORTED const char *nvrtcGetErrorString(int result) {
    const char *(*call)(int) = (const char *(*)(int))real_function(LIBRARY, "nvrtcGetErrorString");
    return call ? call(result) : "NVIDIA's NVRTC was not found";
}

/* An option that asks for machine code, as one that asks for PTX: sm_90 becomes compute_90. */
static char *as_ptx(const char *option, int is_value) {
    static const char *const names[] = {"--gpu-architecture=", "-arch=", "--gpu-architecture ", "-arch "};
    for (size_t index = 0; !is_value && index < sizeof names / sizeof *names; index++)
        if (strncmp(option, names[index], strlen(names[index])) == 0) is_value = 1;
    const char *found = is_value ? strstr(option, "sm_") : NULL;
    if (!found) return strdup(option);
    char *text = calloc(1, strlen(option) + 8);
    memcpy(text, option, (size_t)(found - option));
    strcat(strcat(text, "compute_"), found + 3);
    return text;
}

EXPORTED int nvrtcCompileProgram(uintptr_t program, int count, const char *const *options) {
    char **changed = calloc((size_t)count + 1, sizeof *changed);
    for (int index = 0; index < count; index++) {
        const char *before = index ? options[index - 1] : "";
        changed[index] = as_ptx(options[index], strcmp(before, "-arch") == 0 || strcmp(before, "--gpu-architecture") == 0);
    }
    int result = forward("nvrtcCompileProgram", program, (uintptr_t)count, (uintptr_t)changed, 0, 0, 0);
    for (int index = 0; index < count; index++) free(changed[index]);
    free(changed);
    return result;
}
