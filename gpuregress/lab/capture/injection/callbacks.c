/* Callbacks of CUPTI: what each call of the driver tells. */
#define _GNU_SOURCE
#include "library.h"

__thread bool is_inside;
atomic_int recording_streams;

static bool is_sticky(Result error)
{
    return error == 214 || error == 700 || error == 702 || (error >= 714 && error <= 719);
}

static void exit_call(uint32_t id, const CallbackData *data)
{
    Result result = data->result ? *(const Result *)data->result : 0;
    if (is_sticky(result)) {
        blame(data->context, result);
        return;
    }
    if (result != 0)
        return;
    switch (id) {
    case CB_ModuleLoad:
    case CB_LibraryLoadFromFile:
        remember_loaded(*((const LoadParams *)data->params)->loaded, ((const LoadParams *)data->params)->image, true);
        break;
    case CB_ModuleLoadData:
    case CB_ModuleLoadDataEx:
    case CB_ModuleLoadFatBinary:
    case CB_LibraryLoadData:
        remember_loaded(*((const LoadParams *)data->params)->loaded, ((const LoadParams *)data->params)->image, false);
        break;
    case CB_StreamBeginCapture:
    case CB_StreamBeginCapture_ptsz:
    case CB_StreamBeginCapture_v2:
    case CB_StreamBeginCapture_v2_ptsz:
    case CB_StreamBeginCaptureToGraph:
    case CB_StreamBeginCaptureToGraph_ptsz:
        recording_streams++;
        break;
    case CB_GraphInstantiate:
    case CB_GraphInstantiate_v2:
    case CB_GraphInstantiateWithFlags:
    case CB_GraphInstantiateWithParams:
    case CB_GraphInstantiateWithParams_ptsz: {
        const InstantiateParams *given = data->params;
        note_executable(*given->executable, given->graph);
        break;
    }
    case CB_CtxSynchronize:
        note_finished_all(data->context);
        break;
    case CB_CtxSynchronize_v2: { /* of any context */
        Handle context = ((const ContextParams *)data->params)->context;
        note_finished_all(context ? context : data->context);
        break;
    }
    case CB_StreamSynchronize:
        note_finished_stream(data->context, ((const StreamParams *)data->params)->stream);
        break;
    case CB_StreamSynchronize_ptsz: {
        Handle stream = ((const StreamParams *)data->params)->stream;
        note_finished_stream(data->context, stream ? stream : PER_THREAD);
        break;
    }
    case CB_MemcpyDtoH: /* a copy that the default stream waits for */
        note_finished_stream(data->context, NULL);
        break;
    case CB_MemcpyDtoH_ptds:
        note_finished_stream(data->context, PER_THREAD);
        break;
    case CB_EventSynchronize:
        note_markers();
        break;
    default:
        break;
    }
}

static bool is_load(uint32_t id)
{
    return (id >= CB_ModuleLoad && id <= CB_ModuleLoadFatBinary) || id == CB_LibraryLoadData ||
           id == CB_LibraryLoadFromFile;
}

static bool is_launch(uint32_t id)
{
    return id == CB_LaunchKernel || id == CB_LaunchKernel_ptsz || id == CB_LaunchKernelEx ||
           id == CB_LaunchKernelEx_ptsz || is_cooperative(id);
}

static void on_driver_call(uint32_t id, const CallbackData *data)
{
    if (id == CB_GraphLaunch || id == CB_GraphLaunch_ptsz) {
        if (data->site == SITE_ENTER)
            enter_graph(id, data);
        else
            exit_launch(data);
        return;
    }
    if (is_launch(id)) {
        if (data->site == SITE_ENTER)
            enter_launch(id, data);
        else
            exit_launch(data);
        return;
    }
    if (data->site == SITE_EXIT) {
        exit_call(id, data);
        return;
    }
    Handle graph;
    switch (id) {
    case CB_ModuleUnload:
    case CB_LibraryUnload:
        forget_functions();
        forget_images();
        break;
    case CB_GraphDestroy:
        forget_graph(((const GraphParams *)data->params)->graph);
        break;
    case CB_StreamEndCapture:
    case CB_StreamEndCapture_ptsz:
    case CB_StreamDestroy: /* a recording ends with its stream */
    case CB_StreamDestroy_v2:
        if (recording_streams > 0 && is_recorded(((const StreamParams *)data->params)->stream, &graph))
            recording_streams--;
        break;
    default:
        if (is_load(id))
            begin_loading();
        break;
    }
}

void on_call(void *user, int domain, uint32_t id, const void *data)
{
    (void)user;
    if (domain == DOMAIN_RESOURCE && !is_forked) { /* also within a call of this library, which may load a function */
        const ModuleData *module = id == RESOURCE_MODULE_LOADED ? ((const ResourceData *)data)->descriptor : NULL;
        if (module)
            remember_cubin(module->cubin, module->size);
        return;
    }
    if (is_inside || is_forked)
        return;
    is_inside = true;
    on_driver_call(id, data);
    is_inside = false;
}
