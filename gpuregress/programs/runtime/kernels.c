/* Kernels: the configuration of <<<...>>>, launches, attributes, occupancy. */
#include <string.h>

#include "runtime.h"

enum { NESTED_CONFIGURATIONS = 32 };

/* Configurations that <<<...>>> pushed and the kernel's stub has not popped yet. An argument may launch a kernel. */
static _Thread_local cudaLaunchConfig_t configurations[NESTED_CONFIGURATIONS];
static _Thread_local unsigned configuration_count;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream)
{
    if (configuration_count == NESTED_CONFIGURATIONS)
        return record_error(cudaErrorLaunchMaxDepthExceeded);
    configurations[configuration_count++] =
        (cudaLaunchConfig_t){.gridDim = grid, .blockDim = block, .dynamicSmemBytes = shared, .stream = stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    if (configuration_count == 0)
        return record_error(cudaErrorMissingConfiguration);
    const cudaLaunchConfig_t *configuration = &configurations[--configuration_count];
    *grid = configuration->gridDim;
    *block = configuration->blockDim;
    *shared = configuration->dynamicSmemBytes;
    *(cudaStream_t *)stream = configuration->stream;
    return cudaSuccess;
}

static bool is_within(unsigned value, int attribute)
{
    int limit = 0;
    CUdevice device = 0;
    cuCtxGetDevice(&device);
    cuDeviceGetAttribute(&limit, attribute, device);
    return value >= 1 && value <= (unsigned)limit;
}

/* Whether a grid and a block are within the limits of the device. The driver calls others an invalid value, the runtime
 * an invalid configuration. */
static bool is_valid_configuration(const cudaLaunchConfig_t *config)
{
    enum { MAX_THREADS = 1, MAX_BLOCK_X, MAX_BLOCK_Y, MAX_BLOCK_Z, MAX_GRID_X, MAX_GRID_Y, MAX_GRID_Z };
    uint64_t threads = (uint64_t)config->blockDim.x * config->blockDim.y * config->blockDim.z;
    return is_within(config->blockDim.x, MAX_BLOCK_X) && is_within(config->blockDim.y, MAX_BLOCK_Y) &&
           is_within(config->blockDim.z, MAX_BLOCK_Z) && is_within(config->gridDim.x, MAX_GRID_X) &&
           is_within(config->gridDim.y, MAX_GRID_Y) && is_within(config->gridDim.z, MAX_GRID_Z) &&
           is_within((unsigned)threads, MAX_THREADS);
}

static CUlaunchConfig driver_config(const cudaLaunchConfig_t *config)
{
    return (CUlaunchConfig){
        .gridDimX = config->gridDim.x,
        .gridDimY = config->gridDim.y,
        .gridDimZ = config->gridDim.z,
        .blockDimX = config->blockDim.x,
        .blockDimY = config->blockDim.y,
        .blockDimZ = config->blockDim.z,
        .sharedMemBytes = (unsigned)config->dynamicSmemBytes,
        .hStream = config->stream,
        .attrs = config->attrs,
        .numAttrs = config->numAttrs,
    };
}

cudaError_t launch(CUfunction function, const cudaLaunchConfig_t *config, void **arguments)
{
    if (!is_valid_configuration(config))
        return cudaErrorInvalidConfiguration;
    if (config->dynamicSmemBytes > UINT32_MAX)
        return cudaErrorInvalidValue;
    CUlaunchConfig converted = driver_config(config);
    return (cudaError_t)cuLaunchKernelEx(&converted, function, arguments, NULL);
}

/* Evaluate a call with `function`, the driver's function for `host`. */
#define ON_FUNCTION(host, call)                                  \
    ({                                                           \
        CUfunction function;                                     \
        cudaError_t code_of_call = find_function(host, &function); \
        if (code_of_call == cudaSuccess)                         \
            code_of_call = (cudaError_t)(call);                  \
        record_error(code_of_call);                              \
    })

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *host)
{
    int values[16] = {0};
    cudaError_t code = cudaSuccess;
    for (int attribute = 0; attribute < 16 && code == cudaSuccess; attribute++)
        code = ON_FUNCTION(host, cuFuncGetAttribute(&values[attribute], attribute, function));
    if (code != cudaSuccess)
        return code;
    *attributes = (cudaFuncAttributes){
        .maxThreadsPerBlock = values[0],
        .sharedSizeBytes = (size_t)values[1],
        .constSizeBytes = (size_t)values[2],
        .localSizeBytes = (size_t)values[3],
        .numRegs = values[4],
        .ptxVersion = values[5],
        .binaryVersion = values[6],
        .cacheModeCA = values[7],
        .maxDynamicSharedSizeBytes = values[8],
        .preferredShmemCarveout = values[9],
        .clusterDimMustBeSet = values[10],
        .requiredClusterWidth = values[11],
        .requiredClusterHeight = values[12],
        .requiredClusterDepth = values[13],
        .nonPortableClusterSizeAllowed = values[14],
        .clusterSchedulingPolicyPreference = values[15],
    };
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *host, int attribute, int value)
{
    return ON_FUNCTION(host, cuFuncSetAttribute(function, attribute, value));
}

cudaError_t cudaFuncSetCacheConfig(const void *host, int config)
{
    return ON_FUNCTION(host, cuFuncSetCacheConfig(function, config));
}

cudaError_t cudaFuncSetSharedMemConfig(const void *host, int config)
{
    return ON_FUNCTION(host, cuFuncSetSharedMemConfig(function, config));
}

cudaError_t cudaFuncGetParamInfo(const void *host, size_t index, size_t *offset, size_t *size)
{
    cudaKernel_t kernel;
    cudaError_t code = cudaGetKernel(&kernel, host);
    return code == cudaSuccess ? ON_DEVICE(cuKernelGetParamInfo(kernel, index, offset, size)) : code;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *host, int block_size,
                                                                   size_t shared, unsigned flags)
{
    return ON_FUNCTION(host, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, shared,
                                                                                  flags));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *host, int block_size, size_t shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, block_size, shared, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *shared, const void *host, int blocks, int block_size)
{
    return ON_FUNCTION(host, cuOccupancyAvailableDynamicSMemPerBlock(shared, function, blocks, block_size));
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, const void *host, const cudaLaunchConfig_t *config)
{
    CUlaunchConfig converted = driver_config(config);
    return ON_FUNCTION(host, cuOccupancyMaxPotentialClusterSize(size, function, &converted));
}

cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *host, const cudaLaunchConfig_t *config)
{
    CUlaunchConfig converted = driver_config(config);
    return ON_FUNCTION(host, cuOccupancyMaxActiveClusters(clusters, function, &converted));
}
