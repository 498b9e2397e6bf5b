/* What the C programs of test_driver_library.py begin with. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
typedef unsigned long long Address;
int cuInit(unsigned), cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *), cuCtxCreate_v2(void **, unsigned, int);
int cuCtxDestroy_v2(void *), cuModuleLoadData(void **, const void *), cuModuleGetFunction(void **, void *, const char *);
int cuModuleGetFunctionCount(unsigned *, void *), cuModuleEnumerateFunctions(void **, unsigned, void *);
int cuFuncGetName(const char **, void *), cuMemAlloc_v2(Address *, size_t), cuMemFree_v2(Address);
int cuMemAllocPitch_v2(Address *, size_t *, size_t, size_t, unsigned), cuMemHostAlloc(void **, size_t, unsigned);
int cuMemcpyHtoD_v2(Address, const void *, size_t), cuMemcpyDtoH_v2(void *, Address, size_t), cuCtxSynchronize(void);
int cuMemHostRegister_v2(void *, size_t, unsigned), cuMemHostUnregister(void *), cuGraphCreate(void **, unsigned);
int cuMemHostGetDevicePointer_v2(Address *, void *, unsigned), cuMemsetD8_v2(Address, unsigned char, size_t);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *, void *, int, size_t);

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".extern .func (.param .b64 result) malloc(.param .b64 size);\n"
    ".visible .entry copy(.param .u64 to, .param .u64 from) { .reg .b64 %rd<6>; .reg .b32 %r<3>;\n"
    "ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [from]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;\n"
    "add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3; ld.global.u32 %r2, [%rd5]; st.global.u32 [%rd4], %r2; ret; }\n"
    ".visible .entry grab(.param .u64 to, .param .u64 unused) { .reg .b64 %rd<3>; ld.param.u64 %rd1, [to];\n"
    "{ .param .b64 size; .param .b64 result; st.param.b64 [size], 64; call.uni (result), malloc, (size);\n"
    "ld.param.b64 %rd2, [result]; } st.global.u64 [%rd1], %rd2; st.u32 [%rd2], 5; ret; }\n"
    ".visible .entry spin(.param .u64 to, .param .u64 unused) { .reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .pred %p<2>;\n"
    "ld.param.u64 %rd1, [to]; mov.u32 %r2, 0; L: add.u32 %r2, %r2, 1; st.volatile.global.u32 [%rd1+4], %r2;\n"
    "ld.volatile.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L; ret; }\n";
static void *module, *context;

#define CHECK(call) do { int code_ = (call); if (code_) { printf("line %d: %d\n", __LINE__, code_); _exit(50); } } while (0)
#define EXPECT(condition) do { if (!(condition)) { printf("line %d: %s\n", __LINE__, #condition); _exit(51); } } while (0)

static void start(void) {
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, ptx));
}

static void launch(const char *name, unsigned threads, Address to, Address from) {
    void *function, *values[] = {&to, &from};
    CHECK(cuModuleGetFunction(&function, module, name));
    CHECK(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, NULL, values, NULL));
}

static Address memory(size_t size) {
    Address address;
    CHECK(cuMemAlloc_v2(&address, size));
    return address;
}

static void *in_thread(void *argument);
