/* Graphs that are captured from streams. What takes a stream is in stream_functions.h. */
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
