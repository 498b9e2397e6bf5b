/* A suite of unit tests as users write them: TEST, EXPECT_EQ, a filter, exit code 1 if a test failed.
 *
 * suite [NAME…]: only these tests. SUITE_PLANT=1 leaves a barrier of `neighbours` out, which is a data race.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "kernels.h"

namespace {

struct Test {
    const char *name;
    void (*body)();
};

std::vector<Test> &tests()
{
    static std::vector<Test> all;
    return all;
}

bool failed;

#define TEST(name)                                                       \
    void test_##name();                                                  \
    const bool registered_##name = (tests().push_back({#name, test_##name}), true); \
    void test_##name()

#define EXPECT_EQ(left, right)                                           \
    do {                                                                 \
        if (!((left) == (right))) {                                      \
            std::printf("%s:%d: %s != %s\n", __FILE__, __LINE__, #left, #right); \
            failed = true;                                               \
        }                                                                \
    } while (0)

#define EXPECT_OK(call)                                                  \
    do {                                                                 \
        cudaError_t code_ = (call);                                      \
        if (code_ != cudaSuccess) {                                      \
            std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(code_)); \
            failed = true;                                               \
        }                                                                \
    } while (0)

#ifndef __CUDACC__
/* What nvcc makes of <<<...>>>: converted arguments, the addresses of which the runtime is given. */
template <typename... Parameters, typename... Arguments>
void launch(const void *stub, dim3 grid, dim3 block, size_t shared, cudaStream_t stream, void (*)(Parameters...),
            Arguments... arguments)
{
    [&](Parameters... converted) {
        void *addresses[] = {const_cast<void *>(static_cast<const volatile void *>(&converted))...};
        cudaLaunchKernel(stub, grid, block, addresses, shared, stream);
    }(static_cast<Parameters>(arguments)...);
}
#endif

/* An array on the device, freed at its end. */
template <typename Element> struct Buffer {
    Element *data = nullptr;
    size_t count;
    explicit Buffer(size_t count) : count(count) { EXPECT_OK(cudaMalloc((void **)&data, count * sizeof(Element))); }
    explicit Buffer(const std::vector<Element> &values) : Buffer(values.size())
    {
        EXPECT_OK(cudaMemcpy(data, values.data(), count * sizeof(Element), cudaMemcpyHostToDevice));
    }
    Buffer(const Buffer &) = delete;
    ~Buffer() { EXPECT_OK(cudaFree(data)); }
    std::vector<Element> values() const
    {
        std::vector<Element> copy(count);
        EXPECT_OK(cudaMemcpy(copy.data(), data, count * sizeof(Element), cudaMemcpyDeviceToHost));
        return copy;
    }
};

template <typename Element> std::vector<Element> iota(size_t count, Element first = 0)
{
    std::vector<Element> values(count);
    std::iota(values.begin(), values.end(), first);
    return values;
}

TEST(saxpy)
{
    Buffer<float> x(iota<float>(1000)), y(iota<float>(1000, 1));
    LAUNCH(saxpy, 4, 256, 0, 0, 1000, 2.0f, x.data, y.data);
    EXPECT_OK(cudaGetLastError());
    EXPECT_EQ(y.values()[999], 2.0f * 999 + 1000);
}

TEST(block_sums)
{
    Buffer<int> values(iota<int>(300)), sums(3);
    LAUNCH(block_sums, 3, 128, 0, 0, 300, values.data, sums.data);
    EXPECT_EQ(sums.values(), (std::vector<int>{8128, 24512, 12210}));
}

TEST(neighbours)
{
    Buffer<int> values(iota<int>(64)), sums(64);
    LAUNCH(neighbours, 1, 64, 0, 0, values.data, sums.data, std::getenv("SUITE_PLANT") == nullptr);
    EXPECT_OK(cudaDeviceSynchronize());
    if (!std::getenv("SUITE_PLANT"))
        EXPECT_EQ(sums.values()[40], 40 + 9);
}

TEST(much_shared_memory)
{
    const int count = 20000; /* 80,000 bytes, above the 48 KiB that every kernel may use */
    Buffer<int> values(iota<int>(count));
    LAUNCH(reverse_dynamic, 1, 256, count * sizeof(int), 0, count, values.data);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
    const void *kernel = reinterpret_cast<const void *>(reverse_dynamic);
    EXPECT_OK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, count * sizeof(int)));
    LAUNCH(reverse_dynamic, 1, 256, count * sizeof(int), 0, count, values.data);
    EXPECT_OK(cudaGetLastError());
    EXPECT_EQ(values.values()[0], count - 1);
}

TEST(pitched_rows)
{
    const int width = 5, height = 3;
    std::vector<float> host = iota<float>(width * height), columns;
    char *rows;
    size_t pitch;
    Buffer<float> result(width * height);
    EXPECT_OK(cudaMallocPitch((void **)&rows, &pitch, width * sizeof(float), height));
    EXPECT_OK(cudaMemcpy2D(rows, pitch, host.data(), width * sizeof(float), width * sizeof(float), height,
                           cudaMemcpyHostToDevice));
    LAUNCH(transpose, 1, dim3(8, 8), 0, 0, rows, pitch, width, height, result.data);
    EXPECT_EQ(result.values()[4], 6.0f);
    EXPECT_OK(cudaMemset2D(rows, pitch, 0, width * sizeof(float), height - 1));
    EXPECT_OK(cudaMemcpy2D(host.data(), width * sizeof(float), rows, pitch, width * sizeof(float), height,
                           cudaMemcpyDeviceToHost));
    EXPECT_EQ(host[9], 0.0f);
    EXPECT_EQ(host[10], 10.0f);
    EXPECT_EQ(cudaMemcpy2D(rows, 4, host.data(), 4, 8, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidPitchValue);
    EXPECT_OK(cudaFree(rows));
}

TEST(histogram_in_two_streams)
{
    std::vector<unsigned char> bytes(1024);
    for (size_t i = 0; i < bytes.size(); i++)
        bytes[i] = (unsigned char)(i % 7);
    Buffer<unsigned char> input(bytes);
    Buffer<unsigned> first(256), second(256);
    cudaStream_t streams[2];
    cudaEvent_t zeroed, end;
    for (cudaStream_t &stream : streams)
        EXPECT_OK(cudaStreamCreate(&stream));
    EXPECT_OK(cudaEventCreate(&zeroed));
    EXPECT_OK(cudaEventCreate(&end));
    EXPECT_OK(cudaMemsetAsync(first.data, 0, 1024, streams[0]));
    EXPECT_OK(cudaMemsetAsync(second.data, 0, 1024, streams[0]));
    EXPECT_OK(cudaEventRecord(zeroed, streams[0]));
    EXPECT_OK(cudaStreamWaitEvent(streams[1], zeroed, 0));
    LAUNCH(histogram, 2, 64, 0, streams[0], 1024, input.data, first.data);
    LAUNCH(histogram, 2, 64, 0, streams[1], 512, input.data, second.data);
    EXPECT_OK(cudaEventRecord(end, streams[1]));
    EXPECT_OK(cudaEventSynchronize(end));
    float milliseconds = -1;
    EXPECT_OK(cudaEventElapsedTime(&milliseconds, zeroed, end));
    EXPECT_EQ(milliseconds >= 0, true);
    EXPECT_OK(cudaStreamSynchronize(streams[0]));
    EXPECT_EQ(first.values()[0], 147u);
    EXPECT_EQ(second.values()[6], 73u);
    for (cudaStream_t stream : streams)
        EXPECT_OK(cudaStreamDestroy(stream));
    EXPECT_OK(cudaEventDestroy(zeroed));
    EXPECT_OK(cudaEventDestroy(end));
}

TEST(constant_memory)
{
    float host = 3;
    Buffer<float> values(iota<float>(10));
    EXPECT_OK(cudaMemcpyToSymbol(factor_symbol, &host, sizeof host));
    LAUNCH(scale_by_constant, 1, 32, 0, 0, 10, values.data);
    EXPECT_EQ(values.values()[9], 27.0f);
    EXPECT_EQ(cudaMemcpyToSymbol(factor_symbol, &host, sizeof host, 2), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpyToSymbol(&host, &host, sizeof host), cudaErrorInvalidSymbol);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidSymbol);
}

TEST(device_variable)
{
    unsigned count = 9;
    size_t size;
    void *address;
    LAUNCH(count_calls, 1, 64, 0, 0, 50);
    EXPECT_OK(cudaMemcpyFromSymbol(&count, calls_symbol, sizeof count));
    EXPECT_EQ(count, 50u);
    EXPECT_OK(cudaGetSymbolSize(&size, calls_symbol));
    EXPECT_EQ(size, 4u);
    EXPECT_OK(cudaGetSymbolAddress(&address, calls_symbol));
    EXPECT_OK(cudaMemset(address, 0, size));
    EXPECT_OK(cudaMemcpyFromSymbol(&count, calls_symbol, sizeof count));
    EXPECT_EQ(count, 0u);
}

TEST(managed_memory)
{
    EXPECT_EQ(managed_total(), 5);
    LAUNCH(add_to_managed, 1, 32, 0, 0, 7);
    EXPECT_OK(cudaDeviceSynchronize());
    EXPECT_EQ(managed_total(), 12);
    float *shared;
    EXPECT_OK(cudaMallocManaged((void **)&shared, 40, cudaMemAttachGlobal));
    for (int i = 0; i < 10; i++)
        shared[i] = i;
    LAUNCH(saxpy, 1, 32, 0, 0, 10, 1.0f, shared, shared);
    EXPECT_OK(cudaDeviceSynchronize());
    EXPECT_EQ(shared[9], 18.0f);
    cudaPointerAttributes attributes;
    EXPECT_OK(cudaPointerGetAttributes(&attributes, shared));
    EXPECT_EQ(attributes.type, cudaMemoryTypeManaged);
    EXPECT_OK(cudaPointerGetAttributes(&attributes, &attributes));
    EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
    EXPECT_OK(cudaMemset(shared, 0, 40));
    EXPECT_EQ(shared[9], 0.0f);
    EXPECT_OK(cudaFree(shared));
}

TEST(pinned_memory)
{
    float *host, *mapped;
    EXPECT_OK(cudaHostAlloc((void **)&host, 40, cudaHostAllocMapped));
    EXPECT_OK(cudaHostGetDevicePointer((void **)&mapped, host, 0));
    for (int i = 0; i < 10; i++)
        host[i] = i;
    LAUNCH(saxpy, 1, 32, 0, 0, 10, 1.0f, mapped, mapped);
    EXPECT_OK(cudaDeviceSynchronize());
    EXPECT_EQ(host[3], 6.0f);
    EXPECT_OK(cudaFreeHost(host));
}

TEST(structure_argument)
{
    Buffer<double> values(iota<double>(10));
    LAUNCH(clamp, 1, 32, 0, 0, 10, (Range{2, 0, 6.5}), values.data);
    EXPECT_EQ(values.values(), (std::vector<double>{2, 2, 2, 3, 4, 5, 6, 6.5, 6.5, 6.5}));
}

TEST(warp_maximum)
{
    Buffer<int> values(iota<int>(32, -5)), maximum(1);
    LAUNCH(warp_maximum, 1, 32, 0, 0, values.data, maximum.data);
    EXPECT_EQ(maximum.values()[0], 26);
}

TEST(texture)
{
    std::vector<float> host = iota<float>(12), row(4);
    cudaArray_t array;
    cudaChannelFormatDesc channels = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat), read;
    EXPECT_OK(cudaMallocArray(&array, &channels, 4, 3));
    EXPECT_OK(cudaMemcpy2DToArray(array, 0, 0, host.data(), 16, 16, 3, cudaMemcpyHostToDevice));
    EXPECT_OK(cudaGetChannelDesc(&read, array));
    EXPECT_EQ(read.x, 32);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc description = {};
    cudaTextureObject_t object;
    EXPECT_OK(cudaCreateTextureObject(&object, &resource, &description, nullptr));
    Buffer<float> values(4);
    LAUNCH(sample_texture, 1, 32, 0, 0, object, 4, values.data);
    EXPECT_EQ(values.values(), (std::vector<float>{4, 5, 6, 7}));
    EXPECT_OK(cudaMemcpy2DFromArray(row.data(), 16, array, 0, 2, 16, 1, cudaMemcpyDeviceToHost));
    EXPECT_EQ(row[3], 11.0f);
    EXPECT_OK(cudaDestroyTextureObject(object));
    EXPECT_OK(cudaFreeArray(array));
}

TEST(cooperative_launch)
{
    int count = 100, blocks_per_processor = 0;
    Buffer<int> first(count), second(count);
    void *arguments[] = {&count, (void *)&first.data, (void *)&second.data};
    const void *kernel = reinterpret_cast<const void *>(two_phases);
    EXPECT_OK(cudaLaunchCooperativeKernel(kernel, 4, 32, arguments, 0, 0));
    EXPECT_EQ(second.values()[0], 99);
    EXPECT_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_processor, kernel, 32, 0));
    EXPECT_EQ(blocks_per_processor > 0, true);
}

TEST(refused_launches)
{
    Buffer<int> values(4);
    LAUNCH(write_outside, 0, 4, 0, 0, values.data);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
    LAUNCH(write_outside, 1, 2048, 0, 0, values.data);
    EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidConfiguration);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_EQ(cudaSetDevice(7), cudaErrorInvalidDevice);
    EXPECT_EQ(std::string(cudaGetErrorName(cudaErrorInvalidDevice)), "cudaErrorInvalidDevice");
    EXPECT_EQ(std::string(cudaGetErrorString(cudaGetLastError())), "invalid device ordinal");
}

TEST(device_properties)
{
    cudaDeviceProp properties;
    int count = 0, threads = 0;
    size_t free_bytes = 0, total = 0;
    EXPECT_OK(cudaGetDeviceCount(&count));
    EXPECT_EQ(count, 1);
    EXPECT_OK(cudaGetDeviceProperties(&properties, 0));
    EXPECT_EQ(properties.major, 9);
    EXPECT_EQ(properties.warpSize, 32);
    EXPECT_EQ(std::strstr(properties.name, "virtual") != nullptr, true);
    EXPECT_OK(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerBlock, 0));
    EXPECT_EQ(threads, properties.maxThreadsPerBlock);
    EXPECT_OK(cudaMemGetInfo(&free_bytes, &total));
    EXPECT_EQ(total, properties.totalGlobalMem);
    cudaFuncAttributes attributes;
    EXPECT_OK(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void *>(block_sums)));
    EXPECT_EQ(attributes.sharedSizeBytes, 512u);
}

TEST(stream_order)
{
    cudaStream_t stream;
    std::string order;
    int *values, host = 0;
    EXPECT_OK(cudaStreamCreate(&stream));
    EXPECT_OK(cudaMallocAsync((void **)&values, 4, stream));
    EXPECT_OK(cudaMemsetAsync(values, 0, 4, stream));
    EXPECT_OK(cudaLaunchHostFunc(stream, [](void *text) { *static_cast<std::string *>(text) += "host"; }, &order));
    LAUNCH(write_outside, 1, 1, 0, stream, values);
    EXPECT_OK(cudaMemcpyAsync(&host, values, 4, cudaMemcpyDeviceToHost, stream));
    EXPECT_OK(cudaFreeAsync(values, stream));
    EXPECT_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(order, "host");
    EXPECT_EQ(host, 1);
    EXPECT_OK(cudaStreamDestroy(stream));
}

/* Work of two streams on one buffer; `order` is called between. */
template <typename Order> void use_in_two_streams(unsigned flags, bool second_is_legacy, Order order)
{
    Buffer<float> x(iota<float>(100)), y(iota<float>(100)), z(iota<float>(100));
    cudaStream_t first, second;
    EXPECT_OK(cudaStreamCreateWithFlags(&first, flags));
    EXPECT_OK(cudaStreamCreateWithFlags(&second, flags));
    LAUNCH(saxpy, 1, 128, 0, first, 100, 2.0f, x.data, y.data);
    order(first, second);
    LAUNCH(saxpy, 1, 128, 0, second_is_legacy ? 0 : second, 100, 2.0f, y.data, z.data);
    EXPECT_OK(cudaDeviceSynchronize());
    EXPECT_OK(cudaStreamDestroy(first));
    EXPECT_OK(cudaStreamDestroy(second));
}

TEST(streams_in_order)
{
    auto nothing = [](cudaStream_t, cudaStream_t) {};
    use_in_two_streams(cudaStreamDefault, true, nothing);
    use_in_two_streams(cudaStreamNonBlocking, false, [](cudaStream_t first, cudaStream_t second) {
        cudaEvent_t event;
        EXPECT_OK(cudaEventCreate(&event));
        EXPECT_OK(cudaEventRecord(event, first));
        EXPECT_OK(cudaStreamWaitEvent(second, event, 0));
        EXPECT_OK(cudaEventDestroy(event));
    });
    use_in_two_streams(cudaStreamNonBlocking, false,
                       [](cudaStream_t first, cudaStream_t) { EXPECT_OK(cudaStreamSynchronize(first)); });
    /* Atomic operations of two streams, and halves of one buffer. */
    Buffer<unsigned char> bytes(std::vector<unsigned char>(64, 3));
    Buffer<unsigned> counts(std::vector<unsigned>(256, 0));
    cudaStream_t stream;
    EXPECT_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    LAUNCH(histogram, 1, 64, 0, stream, 64, bytes.data, counts.data);
    LAUNCH(histogram, 1, 64, 0, 0, 64, bytes.data, counts.data);
    EXPECT_OK(cudaDeviceSynchronize());
    LAUNCH(write_outside, 1, 64, 0, stream, (int *)counts.data);
    LAUNCH(write_outside, 1, 64, 0, 0, (int *)counts.data + 64);
    EXPECT_OK(cudaDeviceSynchronize());
    EXPECT_OK(cudaStreamDestroy(stream));
}

TEST(hello)
{
    LAUNCH(say_hello, 1, 1, 0, 0, 42);
    EXPECT_OK(cudaDeviceSynchronize());
}

/* Only by name: what ends a program. */

TEST(captured_graph)
{
    Buffer<float> x(iota<float>(4)), y(std::vector<float>(4, 0));
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    EXPECT_OK(cudaStreamCreate(&stream));
    EXPECT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    LAUNCH(saxpy, 1, 4, 0, stream, 4, 2.0f, x.data, y.data);
    EXPECT_OK(cudaMemcpyAsync(x.data, y.data, 4 * sizeof(float), cudaMemcpyDeviceToDevice, stream));
    EXPECT_OK(cudaStreamEndCapture(stream, &graph));
    EXPECT_OK(cudaGraphInstantiate(&instance, graph, 0));
    EXPECT_EQ(y.values()[3], 0.0f);
    for (int round = 0; round < 2; round++)
        EXPECT_OK(cudaGraphLaunch(instance, stream));
    EXPECT_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(y.values()[3], 18.0f);
    EXPECT_OK(cudaGraphExecDestroy(instance));
    EXPECT_OK(cudaGraphDestroy(graph));
    EXPECT_OK(cudaStreamDestroy(stream));
}

static cudaKernelNodeParams kernel_node(const void *kernel, unsigned threads, void **arguments)
{
    cudaKernelNodeParams params = {};
    params.func = (void *)kernel;
    params.gridDim = dim3(1);
    params.blockDim = dim3(threads);
    params.kernelParams = arguments;
    return params;
}

/* Each node does another thing if it comes too early or too late. */
TEST(built_graph)
{
    const size_t bytes = 4 * sizeof(float);
    Buffer<float> x(iota<float>(4)), y(std::vector<float>(4, 5));
    std::vector<float> result(4, 0);
    int n = 4, calls = 0;
    float a = 2;
    void *arguments[] = {&n, &a, &x.data, &y.data};
    cudaKernelNodeParams kernel = kernel_node((const void *)saxpy, 4, arguments);
    cudaMemsetParams fill = {};
    fill.dst = y.data;
    fill.value = 0x3f800000;
    fill.elementSize = 4;
    fill.width = 4;
    fill.height = 1;
    cudaHostNodeParams call = {[](void *data) { ++*(int *)data; }, &calls};
    cudaMemAllocNodeParams own = {};
    own.bytesize = bytes;
    own.poolProps.allocType = cudaMemAllocationTypePinned;
    own.poolProps.location.type = cudaMemLocationTypeDevice;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    cudaGraphNode_t launch, filling, allocation, inside, outside, last, node;
    EXPECT_OK(cudaStreamCreate(&stream));
    EXPECT_OK(cudaGraphCreate(&graph, 0));
    EXPECT_OK(cudaGraphAddKernelNode(&launch, graph, nullptr, 0, &kernel));
    EXPECT_OK(cudaGraphAddMemsetNode(&filling, graph, nullptr, 0, &fill));
    EXPECT_OK(cudaGraphAddMemAllocNode(&allocation, graph, &launch, 1, &own));
    EXPECT_OK(cudaGraphAddMemcpyNode1D(&inside, graph, &allocation, 1, own.dptr, y.data, bytes, cudaMemcpyDeviceToDevice));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = {own.dptr, bytes, 4, 1};
    copy.dstPtr = {result.data(), bytes, 4, 1};
    copy.extent = {bytes, 1, 1};
    copy.kind = cudaMemcpyDeviceToHost;
    EXPECT_OK(cudaGraphAddMemcpyNode(&outside, graph, &inside, 1, &copy));
    EXPECT_OK(cudaGraphAddMemFreeNode(&last, graph, &outside, 1, own.dptr));
    EXPECT_OK(cudaGraphAddEmptyNode(&node, graph, &last, 1));
    EXPECT_OK(cudaGraphAddHostNode(&node, graph, &node, 1, &call));
    EXPECT_OK(cudaGraphAddDependencies(graph, &filling, &launch, nullptr, 1));
    EXPECT_OK(cudaGraphInstantiate(&instance, graph, 0));
    EXPECT_EQ(calls, 0);
    for (int round = 0; round < 2; round++) {
        EXPECT_OK(cudaGraphLaunch(instance, stream));
        EXPECT_OK(cudaStreamSynchronize(stream));
        EXPECT_EQ(result[3], 7.0f);
    }
    EXPECT_EQ(calls, 2);
    a = 3;
    fill.value = 0;
    EXPECT_OK(cudaGraphExecKernelNodeSetParams(instance, launch, &kernel));
    EXPECT_OK(cudaGraphExecMemsetNodeSetParams(instance, filling, &fill));
    EXPECT_EQ(cudaGraphExecHostNodeSetParams(instance, launch, &call), cudaErrorInvalidValue);
    EXPECT_OK(cudaGraphLaunch(instance, stream));
    EXPECT_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(result[3], 9.0f);
    EXPECT_OK(cudaGraphExecDestroy(instance));
    EXPECT_OK(cudaGraphAddDependencies(graph, &launch, &filling, nullptr, 1));
    EXPECT_EQ(cudaGraphInstantiate(&instance, graph, 0), cudaErrorInvalidValue);
    cudaGetLastError();
    EXPECT_OK(cudaGraphDestroy(graph));
    /* Memory that the program frees after each launch. */
    EXPECT_OK(cudaGraphCreate(&graph, 0));
    EXPECT_OK(cudaGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &own));
    arguments[3] = &own.dptr;
    EXPECT_OK(cudaGraphAddMemcpyNode1D(&inside, graph, &allocation, 1, own.dptr, x.data, bytes, cudaMemcpyDeviceToDevice));
    EXPECT_OK(cudaGraphAddKernelNode(&launch, graph, &inside, 1, &kernel));
    EXPECT_OK(cudaGraphInstantiate(&instance, graph, 0));
    for (int round = 0; round < 2; round++) {
        EXPECT_OK(cudaGraphLaunch(instance, stream));
        EXPECT_OK(cudaFreeAsync(own.dptr, stream));
    }
    EXPECT_EQ(cudaFreeAsync(own.dptr, stream), cudaErrorInvalidValue);
    cudaGetLastError();
    EXPECT_OK(cudaStreamSynchronize(stream));
    EXPECT_OK(cudaGraphExecDestroy(instance));
    EXPECT_OK(cudaGraphDestroy(graph));
    EXPECT_OK(cudaStreamDestroy(stream));
}

TEST(only_fault)
{
    Buffer<int> values(4);
    LAUNCH(write_outside, 1, 5, 0, 0, values.data);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaMemset(values.data, 0, 4), cudaErrorIllegalAddress);
}

TEST(only_unordered_launches)
{
    use_in_two_streams(cudaStreamDefault, false, [](cudaStream_t, cudaStream_t) {});
}

TEST(only_unordered_legacy)
{
    use_in_two_streams(cudaStreamNonBlocking, true, [](cudaStream_t, cudaStream_t) {});
}

TEST(only_wrong_event)
{
    use_in_two_streams(cudaStreamDefault, false, [](cudaStream_t first, cudaStream_t second) {
        cudaEvent_t event;
        EXPECT_OK(cudaEventCreate(&event));
        EXPECT_OK(cudaEventRecord(event, second));
        EXPECT_OK(cudaStreamWaitEvent(first, event, 0));
    });
}

TEST(only_unordered_copy)
{
    Buffer<float> x(iota<float>(100)), y(iota<float>(100));
    cudaStream_t stream;
    float *host;
    EXPECT_OK(cudaMallocHost((void **)&host, 400));
    EXPECT_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    LAUNCH(saxpy, 1, 128, 0, stream, 100, 2.0f, x.data, y.data);
    EXPECT_OK(cudaMemcpy(host, y.data, 400, cudaMemcpyDeviceToHost));
}

TEST(only_missing)
{
    cudaIpcMemHandle_t handle;
    for (int i = 0; i < 2; i++)
        EXPECT_EQ(cudaIpcGetMemHandle(&handle, &handle), cudaErrorNotSupported);
    EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
}

TEST(only_reset)
{
    managed_total() = 100;
    LAUNCH(count_calls, 1, 32, 0, 0, 9);
    EXPECT_OK(cudaDeviceReset());
    unsigned count = 1;
    EXPECT_OK(cudaMemcpyFromSymbol(&count, calls_symbol, sizeof count));
    EXPECT_EQ(count, 0u);
    LAUNCH(add_to_managed, 1, 32, 0, 0, 7);
    EXPECT_OK(cudaDeviceSynchronize());
    EXPECT_EQ(managed_total(), 12);
}

}  // namespace

int main(int count, char **arguments)
{
    int failures = 0;
    for (const Test &test : tests()) {
        bool wanted = count == 1 && std::strncmp(test.name, "only_", 5) != 0;
        for (int i = 1; i < count; i++)
            wanted |= std::strcmp(test.name, arguments[i]) == 0;
        if (!wanted)
            continue;
        failed = false;
        test.body();
        std::printf("[ %s ] %s\n", failed ? "FAILED" : "OK", test.name);
        failures += failed;
    }
    std::printf("%d failed\n", failures);
    return failures != 0;
}
