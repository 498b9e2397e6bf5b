// Shared memory that wgmma reads.
#include "planted.cuh"

constexpr int A_WORDS = 512, WORDS = A_WORDS + 64; // 64 x 16 and 16 x 8 halves, in core matrices of 8 x 16 bytes
#define DESCRIPTOR(p) ((unsigned long long)(SHARED(p) >> 4) | 8ull << 16 | 16ull << 32)
#define MULTIPLY(d, words)                                                                                             \
    asm volatile("{.reg .pred p; setp.ne.b32 p, 0, 0; wgmma.fence.sync.aligned;"                                        \
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;"           \
                 "wgmma.commit_group.sync.aligned;}"                                                                   \
                 : "+f"(d.x), "+f"(d.y), "+f"(d.z), "+f"(d.w)                                                           \
                 : "l"(DESCRIPTOR(words)), "l"(DESCRIPTOR(words + A_WORDS))                                            \
                 : "memory")
#define PRODUCT_WAIT(d)                                                                                                \
    asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d.x), "+f"(d.y), "+f"(d.z), "+f"(d.w)::"memory")

/// A product of what was written without a barrier.
// race of words; block 128
extern "C" __global__ void warpgroups_operand(const int* x, float* y)
{
    __shared__ __align__(128) int words[WORDS];
    int t = threadIdx.x;
    for (int i = t; i < WORDS; i += 128) words[WORDS - 1 - i] = x[i]; // first
    PROXY_FENCE;
    CLEAN(__syncthreads();)
    float4 d = {};
    MULTIPLY(d, words); // second
    PRODUCT_WAIT(d);
    y[t] = d.x + d.y + d.z + d.w;
}

/// Without a fence between the proxies.
// race of words (proxy fence); block 128
extern "C" __global__ void warpgroups_proxy(const int* x, float* y)
{
    __shared__ __align__(128) int words[WORDS];
    int t = threadIdx.x;
    for (int i = t; i < WORDS; i += 128) words[i] = x[i]; // first
    CLEAN(PROXY_FENCE;)
    __syncthreads();
    float4 d = {};
    MULTIPLY(d, words); // second
    PRODUCT_WAIT(d);
    y[t] = d.x + d.y + d.z + d.w;
}

/// Only one warp has the fence, before the others have written.
// race of words (proxy fence); block 128
extern "C" __global__ void warpgroups_proxy_early(const int* x, float* y)
{
    __shared__ __align__(128) int words[WORDS];
    int t = threadIdx.x;
    for (int i = t; i < WORDS; i += 128) words[i] = x[i]; // first
    PLANT(if (t < 32) PROXY_FENCE;)
    __syncthreads();
    CLEAN(PROXY_FENCE;)
    float4 d = {};
    MULTIPLY(d, words); // second
    PRODUCT_WAIT(d);
    y[t] = d.x + d.y + d.z + d.w;
}

/// The next operand is written while other warps may still read.
// race of words; block 128
extern "C" __global__ void warpgroups_overwritten(const int* x, float* y)
{
    __shared__ __align__(128) int words[WORDS];
    int t = threadIdx.x;
    for (int i = t; i < WORDS; i += 128) words[i] = x[i];
    PROXY_FENCE;
    __syncthreads();
    float4 d = {};
    MULTIPLY(d, words); // first
    PRODUCT_WAIT(d);
    CLEAN(__syncthreads();)
    words[t] = x[t + 1]; // second
    __syncthreads();
    y[t] = d.x + d.y + d.z + d.w + words[127 - t];
}

/// A product of copies, which need no fence between the proxies.
// race or uninitialized of words; block 128
extern "C" __global__ void warpgroups_copies(const int* x, float* y)
{
    __shared__ __align__(128) int words[WORDS];
    int t = threadIdx.x;
    for (int i = t; i < WORDS / 4; i += 128) COPY16(words + 4 * i, x + 4 * i); // first
    COMMIT;
    CLEAN(WAIT_GROUP(0);)
    __syncthreads();
    float4 d = {};
    MULTIPLY(d, words); // second
    PRODUCT_WAIT(d);
    y[t] = d.x + d.y + d.z + d.w;
}

/// The last word of B.
// uninitialized of words; block 128
extern "C" __global__ void warpgroups_unwritten(const int* x, float* y)
{
    __shared__ __align__(128) int words[WORDS];
    int t = threadIdx.x;
    for (int i = t; i < EITHER(WORDS - 1, WORDS); i += 128) words[i] = x[i];
    PROXY_FENCE;
    __syncthreads();
    float4 d = {};
    MULTIPLY(d, words); // first
    PRODUCT_WAIT(d);
    y[t] = d.x + d.y + d.z + d.w;
}
