/* Graphs that are captured from streams or built of nodes. What takes a stream is in stream_functions.h. */
#include "runtime.h"

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *instance, cudaGraph_t graph, unsigned long long flags)
{
    return ON_DEVICE(cuGraphInstantiateWithFlags(instance, graph, flags));
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *instance, cudaGraph_t graph, unsigned long long flags)
{
    return cudaGraphInstantiateWithFlags(instance, graph, flags);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *instance, cudaGraph_t graph, void *params)
{
    return ON_DEVICE(cuGraphInstantiateWithParams(instance, graph, params));
}

cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph)
{
    return ON_DEVICE(cuGraphClone(clone, graph));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    return ON_DEVICE(cuGraphDestroy(graph));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t instance)
{
    return ON_DEVICE(cuGraphExecDestroy(instance));
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t instance, cudaGraph_t graph, void *result_info)
{
    return ON_DEVICE(cuGraphExecUpdate_v2(instance, graph, result_info));
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    return ON_DEVICE(cuGraphGetNodes(graph, nodes, count));
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, int *type)
{
    return ON_DEVICE(cuGraphNodeGetType(node, type));
}

cudaError_t cudaThreadExchangeStreamCaptureMode(int *mode)
{
    return ON_DEVICE(cuThreadExchangeStreamCaptureMode(mode));
}

/* --- nodes that a program adds or changes itself; the parameters of fills, calls and memory are also the driver's ----- */

#define WHERE cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags)
{
    return ON_DEVICE(cuGraphCreate(graph, flags));
}

static cudaError_t convert_kernel(const cudaKernelNodeParams *given, CUDA_KERNEL_NODE_PARAMS *converted)
{
    if (!given)
        return cudaErrorInvalidValue;
    *converted = (CUDA_KERNEL_NODE_PARAMS){
        .gridDimX = given->gridDim.x,
        .gridDimY = given->gridDim.y,
        .gridDimZ = given->gridDim.z,
        .blockDimX = given->blockDim.x,
        .blockDimY = given->blockDim.y,
        .blockDimZ = given->blockDim.z,
        .sharedMemBytes = given->sharedMemBytes,
        .kernelParams = given->kernelParams,
        .extra = given->extra,
    };
    return find_function(given->func, &converted->func);
}

static cudaError_t convert_copy(const cudaMemcpy3DParms *given, CUDA_MEMCPY3D *converted)
{
    return given ? convert_box(given, converted) : cudaErrorInvalidValue;
}

/* A copy of `bytes` within linear memory; a direction that contradicts an address is found by the driver. */
static CUDA_MEMCPY3D line(void *destination, const void *source, size_t bytes)
{
    return (CUDA_MEMCPY3D){
        .srcMemoryType = DRIVER_MEMORY_UNIFIED,
        .srcDevice = (CUdeviceptr)source,
        .dstMemoryType = DRIVER_MEMORY_UNIFIED,
        .dstDevice = (CUdeviceptr)destination,
        .WidthInBytes = bytes,
        .Height = 1,
        .Depth = 1,
    };
}

/* Evaluate a call of the driver with `converted`, the driver's form of `given`. */
#define CONVERTED(type, convert, given, call)                \
    ({                                                       \
        type converted;                                      \
        cudaError_t code = convert(given, &converted);       \
        if (code == cudaSuccess)                             \
            code = ON_DEVICE(call);                          \
        record_error(code);                                  \
    })
#define KERNEL(given, call) CONVERTED(CUDA_KERNEL_NODE_PARAMS, convert_kernel, given, call)
#define COPY(given, call) CONVERTED(CUDA_MEMCPY3D, convert_copy, given, call)

cudaError_t cudaGraphAddKernelNode(WHERE, const cudaKernelNodeParams *given)
{
    return KERNEL(given, cuGraphAddKernelNode_v2(node, graph, dependencies, count, &converted));
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams *given)
{
    return KERNEL(given, cuGraphKernelNodeSetParams_v2(node, &converted));
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t instance, cudaGraphNode_t node, const cudaKernelNodeParams *given)
{
    return KERNEL(given, cuGraphExecKernelNodeSetParams_v2(instance, node, &converted));
}

cudaError_t cudaGraphAddMemcpyNode(WHERE, const cudaMemcpy3DParms *given)
{
    return COPY(given, cuGraphAddMemcpyNode(node, graph, dependencies, count, &converted, NULL));
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms *given)
{
    return COPY(given, cuGraphMemcpyNodeSetParams(node, &converted));
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t instance, cudaGraphNode_t node, const cudaMemcpy3DParms *given)
{
    return COPY(given, cuGraphExecMemcpyNodeSetParams(instance, node, &converted, NULL));
}

cudaError_t cudaGraphAddMemcpyNode1D(WHERE, void *destination, const void *source, size_t bytes, cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D copy = line(destination, source, bytes);
    if ((unsigned)kind > BY_ADDRESS)
        return record_error(cudaErrorInvalidMemcpyDirection);
    return ON_DEVICE(cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy, NULL));
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *destination, const void *source, size_t bytes,
                                           cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D copy = line(destination, source, bytes);
    if ((unsigned)kind > BY_ADDRESS)
        return record_error(cudaErrorInvalidMemcpyDirection);
    return ON_DEVICE(cuGraphMemcpyNodeSetParams(node, &copy));
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t instance, cudaGraphNode_t node, void *destination,
                                               const void *source, size_t bytes, cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D copy = line(destination, source, bytes);
    if ((unsigned)kind > BY_ADDRESS)
        return record_error(cudaErrorInvalidMemcpyDirection);
    return ON_DEVICE(cuGraphExecMemcpyNodeSetParams(instance, node, &copy, NULL));
}

cudaError_t cudaGraphAddMemsetNode(WHERE, const void *fill)
{
    return ON_DEVICE(cuGraphAddMemsetNode(node, graph, dependencies, count, fill, NULL));
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const void *fill)
{
    return ON_DEVICE(cuGraphMemsetNodeSetParams(node, fill));
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t instance, cudaGraphNode_t node, const void *fill)
{
    return ON_DEVICE(cuGraphExecMemsetNodeSetParams(instance, node, fill, NULL));
}

cudaError_t cudaGraphAddHostNode(WHERE, const void *call)
{
    return ON_DEVICE(cuGraphAddHostNode(node, graph, dependencies, count, call));
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const void *call)
{
    return ON_DEVICE(cuGraphHostNodeSetParams(node, call));
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t instance, cudaGraphNode_t node, const void *call)
{
    return ON_DEVICE(cuGraphExecHostNodeSetParams(instance, node, call));
}

cudaError_t cudaGraphAddEmptyNode(WHERE)
{
    return ON_DEVICE(cuGraphAddEmptyNode(node, graph, dependencies, count));
}

cudaError_t cudaGraphAddMemAllocNode(WHERE, void *allocation)
{
    return ON_DEVICE(cuGraphAddMemAllocNode(node, graph, dependencies, count, allocation));
}

cudaError_t cudaGraphAddMemFreeNode(WHERE, void *address)
{
    return ON_DEVICE(cuGraphAddMemFreeNode(node, graph, dependencies, count, (CUdeviceptr)address));
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     const void *edges, size_t count)
{
    return ON_DEVICE(cuGraphAddDependencies_v2(graph, from, to, edges, count));
}

/* --- memory of graphs, and what a program lends to them ---------------------------------------------------------------- */

cudaError_t cudaDeviceGetGraphMemAttribute(int device, int attribute, void *value)
{
    return ON_DEVICE(cuDeviceGetGraphMemAttribute(device, attribute, value));
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, int attribute, void *value)
{
    return ON_DEVICE(cuDeviceSetGraphMemAttribute(device, attribute, value));
}

cudaError_t cudaDeviceGraphMemTrim(int device)
{
    return ON_DEVICE(cuDeviceGraphMemTrim(device));
}

cudaError_t cudaUserObjectCreate(void **object, void *data, cudaHostFn_t destroy, unsigned references, unsigned flags)
{
    return ON_DEVICE(cuUserObjectCreate(object, data, destroy, references, flags));
}

cudaError_t cudaUserObjectRetain(void *object, unsigned count)
{
    return ON_DEVICE(cuUserObjectRetain(object, count));
}

cudaError_t cudaUserObjectRelease(void *object, unsigned count)
{
    return ON_DEVICE(cuUserObjectRelease(object, count));
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, void *object, unsigned count, unsigned flags)
{
    return ON_DEVICE(cuGraphRetainUserObject(graph, object, count, flags));
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, void *object, unsigned count)
{
    return ON_DEVICE(cuGraphReleaseUserObject(graph, object, count));
}
