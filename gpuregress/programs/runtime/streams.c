/* Streams and events: what does not depend on the default stream. */
#include "runtime.h"

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return ON_DEVICE(cuStreamCreate(stream, flags));
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    return ON_DEVICE(cuStreamCreateWithPriority(stream, flags, priority));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    return ON_DEVICE(cuStreamDestroy_v2(stream));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    return ON_DEVICE(cuEventCreate(event, flags));
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, 0);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    return ON_DEVICE(cuEventDestroy_v2(event));
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return ON_DEVICE(cuEventQuery(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    return ON_DEVICE(cuEventSynchronize(event));
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    return ON_DEVICE(cuEventElapsedTime_v2(milliseconds, start, end));
}
