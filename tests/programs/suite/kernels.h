/* The kernels and device variables of the suite, as its host code sees them.
 *
 * nvcc compiles kernels.cu with the host code. Without nvcc, NVRTC compiles kernels.cu to PTX, g++ compiles the host
 * code, and the test writes what nvcc would generate: a stub for each kernel, and the registration.
 */
#ifndef SUITE_KERNELS_H
#define SUITE_KERNELS_H

#ifdef __CUDACC__
#define KERNEL extern "C" __global__ void
#define LAUNCH(kernel, grid, block, shared, stream, ...) kernel<<<grid, block, shared, stream>>>(__VA_ARGS__)
#else
#define KERNEL extern "C" void
#define LAUNCH(kernel, grid, block, shared, stream, ...) \
    launch(reinterpret_cast<const void *>(kernel), grid, block, shared, stream, kernel, __VA_ARGS__)
#endif

struct Range {
    float low;
    int unused;
    double high;
};

KERNEL saxpy(int n, float a, const float *x, float *y);
KERNEL block_sums(int n, const int *values, int *sums);
KERNEL neighbours(const int *values, int *sums, int synchronise);
KERNEL reverse_dynamic(int n, int *values);
KERNEL transpose(const char *rows, size_t pitch, int width, int height, float *columns);
KERNEL histogram(int n, const unsigned char *bytes, unsigned *counts);
KERNEL scale_by_constant(int n, float *values);
KERNEL count_calls(int n);
KERNEL add_to_managed(int n);
KERNEL clamp(int n, Range range, double *values);
KERNEL warp_maximum(const int *values, int *maximum);
KERNEL sample_texture(cudaTextureObject_t texture, int width, float *values);
KERNEL two_phases(int n, int *first, int *second);
KERNEL write_outside(int *values);
KERNEL say_hello(int number);

#ifndef __CUDACC_RTC__
/* `__constant__ float factor`, `__device__ unsigned calls`, `__managed__ int total`, by their host names. */
extern const void *const factor_symbol;
extern const void *const calls_symbol;
int &managed_total();
#endif

#endif
