/* Included twice by stream_functions.c: PTSZ and PTDS give the name for a default stream, STREAM replaces stream 0. */

cudaError_t PTDS(cudaMemcpy)(void *destination, const void *source, size_t bytes, cudaMemcpyKind kind)
{
    return ON_DEVICE(wait_for_copy(copy(destination, source, bytes, kind, STREAM(NULL)), kind, STREAM(NULL)));
}

cudaError_t PTSZ(cudaMemcpyAsync)(void *destination, const void *source, size_t bytes, cudaMemcpyKind kind,
                                  cudaStream_t stream)
{
    return ON_DEVICE(copy(destination, source, bytes, kind, STREAM(stream)));
}

cudaError_t PTDS(cudaMemcpyToSymbol)(const void *symbol, const void *source, size_t count, size_t offset,
                                     cudaMemcpyKind kind)
{
    return ON_DEVICE(
        wait_for_copy(copy_to_symbol(symbol, source, count, offset, kind, STREAM(NULL)), kind, STREAM(NULL)));
}

cudaError_t PTSZ(cudaMemcpyToSymbolAsync)(const void *symbol, const void *source, size_t count, size_t offset,
                                          cudaMemcpyKind kind, cudaStream_t stream)
{
    return ON_DEVICE(copy_to_symbol(symbol, source, count, offset, kind, STREAM(stream)));
}

cudaError_t PTDS(cudaMemcpyFromSymbol)(void *destination, const void *symbol, size_t count, size_t offset,
                                       cudaMemcpyKind kind)
{
    return ON_DEVICE(
        wait_for_copy(copy_from_symbol(destination, symbol, count, offset, kind, STREAM(NULL)), kind, STREAM(NULL)));
}

cudaError_t PTSZ(cudaMemcpyFromSymbolAsync)(void *destination, const void *symbol, size_t count, size_t offset,
                                            cudaMemcpyKind kind, cudaStream_t stream)
{
    return ON_DEVICE(copy_from_symbol(destination, symbol, count, offset, kind, STREAM(stream)));
}

cudaError_t PTDS(cudaMemcpy2D)(void *destination, size_t to_pitch, const void *source, size_t from_pitch, size_t width,
                               size_t height, cudaMemcpyKind kind)
{
    return ON_DEVICE(wait_for_copy(copy_rows(NULL, 0, 0, rows(destination, to_pitch, height), NULL, 0, 0,
                                             rows(source, from_pitch, height), width, height, kind, STREAM(NULL)),
                                   kind, STREAM(NULL)));
}

cudaError_t PTSZ(cudaMemcpy2DAsync)(void *destination, size_t to_pitch, const void *source, size_t from_pitch,
                                    size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
    return ON_DEVICE(copy_rows(NULL, 0, 0, rows(destination, to_pitch, height), NULL, 0, 0,
                               rows(source, from_pitch, height), width, height, kind, STREAM(stream)));
}

cudaError_t PTDS(cudaMemcpy2DToArray)(cudaArray_t array, size_t x, size_t y, const void *source, size_t pitch,
                                      size_t width, size_t height, cudaMemcpyKind kind)
{
    return ON_DEVICE(wait_for_copy(copy_rows(array, x, y, rows(NULL, 0, 0), NULL, 0, 0, rows(source, pitch, height),
                                             width, height, kind, STREAM(NULL)),
                                   kind, STREAM(NULL)));
}

cudaError_t PTSZ(cudaMemcpy2DToArrayAsync)(cudaArray_t array, size_t x, size_t y, const void *source, size_t pitch,
                                           size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
    return ON_DEVICE(copy_rows(array, x, y, rows(NULL, 0, 0), NULL, 0, 0, rows(source, pitch, height), width, height,
                               kind, STREAM(stream)));
}

cudaError_t PTDS(cudaMemcpy2DFromArray)(void *destination, size_t pitch, cudaArray_const_t array, size_t x, size_t y,
                                        size_t width, size_t height, cudaMemcpyKind kind)
{
    return ON_DEVICE(wait_for_copy(copy_rows(NULL, 0, 0, rows(destination, pitch, height), array, x, y,
                                             rows(NULL, 0, 0), width, height, kind, STREAM(NULL)),
                                   kind, STREAM(NULL)));
}

cudaError_t PTSZ(cudaMemcpy2DFromArrayAsync)(void *destination, size_t pitch, cudaArray_const_t array, size_t x,
                                             size_t y, size_t width, size_t height, cudaMemcpyKind kind,
                                             cudaStream_t stream)
{
    return ON_DEVICE(copy_rows(NULL, 0, 0, rows(destination, pitch, height), array, x, y, rows(NULL, 0, 0), width,
                               height, kind, STREAM(stream)));
}

cudaError_t PTDS(cudaMemcpy2DArrayToArray)(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                           size_t from_x, size_t from_y, size_t width, size_t height,
                                           cudaMemcpyKind kind)
{
    (void)kind;
    return ON_DEVICE(copy_rows(to, to_x, to_y, rows(NULL, 0, 0), from, from_x, from_y, rows(NULL, 0, 0), width, height,
                               DEVICE_TO_DEVICE, STREAM(NULL)));
}

/* The deprecated copies of bytes that go on in an array's next row. */
cudaError_t PTSZ(cudaMemcpyToArrayAsync)(cudaArray_t array, size_t x, size_t y, const void *source, size_t count,
                                         cudaMemcpyKind kind, cudaStream_t stream)
{
    return ON_DEVICE(copy_run(array, x, y, (void *)source, count, kind, STREAM(stream), true));
}

cudaError_t PTDS(cudaMemcpyToArray)(cudaArray_t array, size_t x, size_t y, const void *source, size_t count,
                                    cudaMemcpyKind kind)
{
    cudaError_t code = PTSZ(cudaMemcpyToArrayAsync)(array, x, y, source, count, kind, NULL);
    return record_error(wait_for_copy(code, kind, STREAM(NULL)));
}

cudaError_t PTSZ(cudaMemcpyFromArrayAsync)(void *destination, cudaArray_const_t array, size_t x, size_t y, size_t count,
                                           cudaMemcpyKind kind, cudaStream_t stream)
{
    return ON_DEVICE(copy_run((cudaArray_t)array, x, y, destination, count, kind, STREAM(stream), false));
}

cudaError_t PTDS(cudaMemcpyFromArray)(void *destination, cudaArray_const_t array, size_t x, size_t y, size_t count,
                                      cudaMemcpyKind kind)
{
    cudaError_t code = PTSZ(cudaMemcpyFromArrayAsync)(destination, array, x, y, count, kind, NULL);
    return record_error(wait_for_copy(code, kind, STREAM(NULL)));
}

cudaError_t PTDS(cudaMemcpyArrayToArray)(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                         size_t from_x, size_t from_y, size_t count, cudaMemcpyKind kind)
{
    return PTDS(cudaMemcpy2DArrayToArray)(to, to_x, to_y, from, from_x, from_y, count, 1, kind);
}

cudaError_t PTDS(cudaMemcpy3D)(const cudaMemcpy3DParms *box)
{
    return ON_DEVICE(wait_for_copy(copy_box(box, STREAM(NULL)), box->kind, STREAM(NULL)));
}

cudaError_t PTSZ(cudaMemcpy3DAsync)(const cudaMemcpy3DParms *box, cudaStream_t stream)
{
    return ON_DEVICE(copy_box(box, STREAM(stream)));
}

cudaError_t PTSZ(cudaMemcpy3DPeerAsync)(const cudaMemcpy3DPeerParms *box, cudaStream_t stream)
{
    cudaMemcpy3DParms converted = peer_box(box);
    return ON_DEVICE(copy_box(&converted, STREAM(stream)));
}

cudaError_t PTDS(cudaMemcpy3DPeer)(const cudaMemcpy3DPeerParms *box)
{
    return PTSZ(cudaMemcpy3DPeerAsync)(box, NULL);
}

cudaError_t PTDS(cudaMemset)(void *address, int value, size_t count)
{
    return ON_DEVICE(wait_for_fill(set_bytes(address, value, count, STREAM(NULL)), address, STREAM(NULL)));
}

cudaError_t PTSZ(cudaMemsetAsync)(void *address, int value, size_t count, cudaStream_t stream)
{
    return ON_DEVICE(set_bytes(address, value, count, STREAM(stream)));
}

cudaError_t PTDS(cudaMemset2D)(void *address, size_t pitch, int value, size_t width, size_t height)
{
    return ON_DEVICE(
        wait_for_fill(set_rows(address, pitch, value, width, height, STREAM(NULL)), address, STREAM(NULL)));
}

cudaError_t PTSZ(cudaMemset2DAsync)(void *address, size_t pitch, int value, size_t width, size_t height,
                                    cudaStream_t stream)
{
    return ON_DEVICE(set_rows(address, pitch, value, width, height, STREAM(stream)));
}

cudaError_t PTDS(cudaMemset3D)(cudaPitchedPtr pitched, int value, cudaExtent extent)
{
    return ON_DEVICE(wait_for_fill(set_box(pitched, value, extent, STREAM(NULL)), pitched.ptr, STREAM(NULL)));
}

cudaError_t PTSZ(cudaMemset3DAsync)(cudaPitchedPtr pitched, int value, cudaExtent extent, cudaStream_t stream)
{
    return ON_DEVICE(set_box(pitched, value, extent, STREAM(stream)));
}

cudaError_t PTSZ(cudaMemPrefetchAsync)(const void *address, size_t bytes, cudaMemLocation location, unsigned flags,
                                       cudaStream_t stream)
{
    return ON_DEVICE(cuMemPrefetchAsync_v2((CUdeviceptr)address, bytes, location, flags, STREAM(stream)));
}

cudaError_t PTSZ(cudaMallocAsync)(void **address, size_t bytes, cudaStream_t stream)
{
    *address = NULL;
    return ON_DEVICE(bytes ? cuMemAllocAsync((CUdeviceptr *)address, bytes, STREAM(stream)) : 0);
}

cudaError_t PTSZ(cudaMallocFromPoolAsync)(void **address, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    *address = NULL;
    return ON_DEVICE(bytes ? cuMemAllocFromPoolAsync((CUdeviceptr *)address, bytes, pool, STREAM(stream)) : 0);
}

cudaError_t PTSZ(cudaFreeAsync)(void *address, cudaStream_t stream)
{
    return ON_DEVICE(address ? cuMemFreeAsync((CUdeviceptr)address, STREAM(stream)) : 0);
}

cudaError_t PTSZ(cudaLaunchKernel)(const void *host, dim3 grid, dim3 block, void **arguments, size_t shared,
                                   cudaStream_t stream)
{
    cudaLaunchConfig_t config = {
        .gridDim = grid, .blockDim = block, .dynamicSmemBytes = shared, .stream = STREAM(stream)};
    return record_error(launch_host(host, &config, arguments));
}

/* The launch of <<<...>>> in code of nvcc 13; the handle comes from __cudaGetKernel. */
cudaError_t PTSZ(__cudaLaunchKernel)(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                                     cudaStream_t stream)
{
    return PTSZ(cudaLaunchKernel)(kernel, grid, block, arguments, shared, stream);
}

cudaError_t PTSZ(cudaLaunchKernelExC)(const cudaLaunchConfig_t *config, const void *host, void **arguments)
{
    cudaLaunchConfig_t converted = *config;
    converted.stream = STREAM(config->stream);
    return record_error(launch_host(host, &converted, arguments));
}

cudaError_t PTSZ(cudaLaunchCooperativeKernel)(const void *host, dim3 grid, dim3 block, void **arguments, size_t shared,
                                              cudaStream_t stream)
{
    enum { COOPERATIVE = 2 };
    cudaLaunchAttribute attribute = {.id = COOPERATIVE, .val.cooperative = 1};
    cudaLaunchConfig_t config = {.gridDim = grid,
                                 .blockDim = block,
                                 .dynamicSmemBytes = shared,
                                 .stream = STREAM(stream),
                                 .attrs = &attribute,
                                 .numAttrs = 1};
    return record_error(launch_host(host, &config, arguments));
}

cudaError_t PTSZ(cudaLaunchHostFunc)(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    return ON_DEVICE(cuLaunchHostFunc(STREAM(stream), function, data));
}

cudaError_t PTSZ(cudaStreamAddCallback)(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned flags)
{
    return ON_DEVICE(cuStreamAddCallback(STREAM(stream), callback, data, flags));
}

cudaError_t PTSZ(cudaStreamAttachMemAsync)(cudaStream_t stream, void *address, size_t bytes, unsigned flags)
{
    return ON_DEVICE(cuStreamAttachMemAsync(STREAM(stream), (CUdeviceptr)address, bytes, flags));
}

cudaError_t PTSZ(cudaStreamQuery)(cudaStream_t stream)
{
    return ON_DEVICE(cuStreamQuery(STREAM(stream)));
}

cudaError_t PTSZ(cudaStreamSynchronize)(cudaStream_t stream)
{
    return ON_DEVICE(cuStreamSynchronize(STREAM(stream)));
}

cudaError_t PTSZ(cudaStreamWaitEvent)(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    return ON_DEVICE(cuStreamWaitEvent(STREAM(stream), event, flags));
}

cudaError_t PTSZ(cudaEventRecordWithFlags)(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    return ON_DEVICE(cuEventRecordWithFlags(event, STREAM(stream), flags));
}

cudaError_t PTSZ(cudaEventRecord)(cudaEvent_t event, cudaStream_t stream)
{
    return PTSZ(cudaEventRecordWithFlags)(event, stream, 0);
}

cudaError_t PTSZ(cudaStreamGetPriority)(cudaStream_t stream, int *priority)
{
    return ON_DEVICE(cuStreamGetPriority(STREAM(stream), priority));
}

cudaError_t PTSZ(cudaStreamGetFlags)(cudaStream_t stream, unsigned *flags)
{
    return ON_DEVICE(cuStreamGetFlags(STREAM(stream), flags));
}

cudaError_t PTSZ(cudaStreamGetId)(cudaStream_t stream, uint64_t *id)
{
    return ON_DEVICE(cuStreamGetId(STREAM(stream), id));
}

cudaError_t PTSZ(cudaStreamGetDevice)(cudaStream_t stream, int *device)
{
    return ON_DEVICE(cuStreamGetDevice(STREAM(stream), device));
}

cudaError_t PTSZ(cudaStreamGetAttribute)(cudaStream_t stream, int attribute, void *value)
{
    return ON_DEVICE(cuStreamGetAttribute(STREAM(stream), attribute, value));
}

cudaError_t PTSZ(cudaStreamSetAttribute)(cudaStream_t stream, int attribute, const void *value)
{
    return ON_DEVICE(cuStreamSetAttribute(STREAM(stream), attribute, value));
}

cudaError_t PTSZ(cudaStreamCopyAttributes)(cudaStream_t destination, cudaStream_t source)
{
    return ON_DEVICE(cuStreamCopyAttributes(STREAM(destination), STREAM(source)));
}

cudaError_t PTSZ(cudaStreamBeginCapture)(cudaStream_t stream, int mode)
{
    return ON_DEVICE(cuStreamBeginCapture_v2(STREAM(stream), mode));
}

cudaError_t PTSZ(cudaStreamEndCapture)(cudaStream_t stream, cudaGraph_t *graph)
{
    return ON_DEVICE(cuStreamEndCapture(STREAM(stream), graph));
}

cudaError_t PTSZ(cudaStreamIsCapturing)(cudaStream_t stream, int *status)
{
    return ON_DEVICE(cuStreamIsCapturing(STREAM(stream), status));
}

cudaError_t PTSZ(cudaStreamGetCaptureInfo)(cudaStream_t stream, int *status, uint64_t *id, cudaGraph_t *graph,
                                           const cudaGraphNode_t **nodes, const void **edges, size_t *count)
{
    return ON_DEVICE(cuStreamGetCaptureInfo_v3(STREAM(stream), status, id, graph, nodes, edges, count));
}

cudaError_t PTSZ(cudaGraphLaunch)(cudaGraphExec_t instance, cudaStream_t stream)
{
    return ON_DEVICE(cuGraphLaunch(instance, STREAM(stream)));
}

cudaError_t PTSZ(cudaGraphUpload)(cudaGraphExec_t instance, cudaStream_t stream)
{
    return ON_DEVICE(cuGraphUpload(instance, STREAM(stream)));
}

cudaError_t PTSZ(cudaGetDriverEntryPointByVersion)(const char *symbol, void **function, unsigned version,
                                                   uint64_t flags, int *status)
{
    return ON_DEVICE(cuGetProcAddress_v2(symbol, function, (int)version, flags, status));
}

cudaError_t PTSZ(cudaGetDriverEntryPoint)(const char *symbol, void **function, uint64_t flags, int *status)
{
    enum { VERSION = 13000 };
    return PTSZ(cudaGetDriverEntryPointByVersion)(symbol, function, VERSION, flags, status);
}
