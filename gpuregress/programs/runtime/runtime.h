/* What the parts of the runtime library share. */
#ifndef GPUREGRESS_RUNTIME_H
#define GPUREGRESS_RUNTIME_H

#include <stdbool.h>

#include "driver.h"
#include "types.h"

/* Public functions that other files call, too. */
cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *host);

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc *channels, cudaExtent *extent, unsigned *flags, cudaArray_t array);

/* A program may have functions of the same names as these. */
#pragma GCC visibility push(hidden)

/* Make the driver ready and a context current in this thread: the context that the program made current itself, or the
 * primary context of the thread's device. */
cudaError_t use_device(void);

/* Keep the last error of this thread, and return it. */
cudaError_t record_error(cudaError_t code);

/* Result of a call of the driver with a current context, kept as the thread's last error. */
#define ON_DEVICE(call)                               \
    ({                                                \
        cudaError_t code_of_call = use_device();      \
        if (code_of_call == cudaSuccess)              \
            code_of_call = (cudaError_t)(call);       \
        record_error(code_of_call);                   \
    })

/* The driver's function for a host stub, a handle of a kernel, or a symbol; loads its program if need be. */
cudaError_t find_function(const void *host, CUfunction *function);

/* Address and size of a `__device__`, `__constant__` or `__managed__` variable. */
cudaError_t find_variable(const void *host, CUdeviceptr *address, size_t *bytes);

/* Forget what is loaded, since the primary context is about to be reset. */
void unload_programs(void);

/* Launch through the driver. Shared by the functions of both default streams. */
cudaError_t launch(CUfunction function, const cudaLaunchConfig_t *config, void **arguments);

/* The driver's form of a copy of a box. */
cudaError_t convert_box(const cudaMemcpy3DParms *box, CUDA_MEMCPY3D *result);

/* The driver's format and number of channels of a channel description; an error if there is none. */
cudaError_t array_format(const cudaChannelFormatDesc *channels, int *format, unsigned *count);

/* Bytes of one element of an array. */
cudaError_t array_element_bytes(cudaArray_const_t array, size_t *bytes);

#pragma GCC visibility pop

#endif
