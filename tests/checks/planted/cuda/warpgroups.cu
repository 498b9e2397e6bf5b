// Shared memory that wgmma reads.
#include "planted.cuh"

constexpr int A_WORDS = 512, WORDS = A_WORDS + 64; // 64 x 16 and 16 x 8 halves, in core matrices of 8 x 16 bytes
#define DESCRIPTOR(p) ((unsigned long long)(SHARED(p) >> 4) | 8ull << 16 | 16ull << 32)
#define PRODUCT_WAIT_BUT(n, d)                                                                                         \
    asm volatile("wgmma.wait_group.sync.aligned %4;" : "+f"(d.x), "+f"(d.y), "+f"(d.z), "+f"(d.w) : "n"(n) : "memory")
#define MULTIPLY(d, words) ISSUE(d, words); PRODUCT_COMMIT
#define PRODUCT_FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define ISSUE(d, words) PRODUCT_FENCE; ISSUE_ALONE(d, words)
#define ISSUE_ALONE(d, words)                                                                                          \
    asm volatile("{.reg .pred p; setp.ne.b32 p, 0, 0;"                                                                 \
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;}"          \
                 : "+f"(d.x), "+f"(d.y), "+f"(d.z), "+f"(d.w)                                                           \
                 : "l"(DESCRIPTOR(words)), "l"(DESCRIPTOR(words + A_WORDS))                                            \
                 : "memory")
#define PRODUCT_COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
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

/// The next operand is written while the other warpgroup may still read.
// race of words; block 256
extern "C" __global__ void warpgroups_overwritten(const int* x, float* y)
{
    __shared__ __align__(128) int words[WORDS];
    int t = threadIdx.x;
    for (int i = t; i < WORDS; i += 256) words[i] = x[i];
    PROXY_FENCE;
    __syncthreads();
    float4 d = {};
    MULTIPLY(d, words); // first
    PRODUCT_WAIT(d);
    CLEAN(__syncthreads();)
    words[t] = x[t + 1]; // second
    __syncthreads();
    y[t] = d.x + d.y + d.z + d.w + words[255 - t];
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

/// Behind a barrier, but before the wait.
// race of words; block 128
extern "C" __global__ void warpgroups_wait_behind_write(const int* x, float* y)
{
    __shared__ __align__(128) int words[WORDS];
    int t = threadIdx.x;
    for (int i = t; i < WORDS; i += 128) words[i] = x[i];
    PROXY_FENCE;
    __syncthreads();
    float4 d = {};
    MULTIPLY(d, words); // first
    CLEAN(PRODUCT_WAIT(d);)
    __syncthreads();
    words[t] = x[t + 1]; // second
    PLANT(PRODUCT_WAIT(d);)
    __syncthreads();
    y[t] = d.x + d.y + d.z + d.w + words[127 - t];
}

/// A warp writes what only it reads, before its wait.
// race of words; block 128
extern "C" __global__ void warpgroups_own_rows(const int* x, float* y)
{
    __shared__ __align__(128) int words[WORDS];
    int t = threadIdx.x;
    for (int i = t; i < WORDS; i += 128) words[i] = x[i];
    PROXY_FENCE;
    __syncthreads();
    float4 d = {};
    MULTIPLY(d, words); // first
    CLEAN(PRODUCT_WAIT(d);)
    words[t / 32 * 128 + t % 32] = t; // second
    PLANT(PRODUCT_WAIT(d);)
    y[t] = d.x + d.y + d.z + d.w;
}

/// Of two products in flight, the wait leaves the one whose operand is overwritten.
// race of stages; block 128
extern "C" __global__ void warpgroups_wait_for_one(const int* x, float* y)
{
    __shared__ __align__(128) int stages[2][WORDS];
    int t = threadIdx.x;
    for (int i = t; i < WORDS; i += 128) { stages[0][i] = x[i]; stages[1][i] = x[i + 1]; }
    PROXY_FENCE;
    __syncthreads();
    float4 d = {}, e = {};
    MULTIPLY(d, stages[0]); // first
    MULTIPLY(e, stages[1]); // first
    PRODUCT_WAIT_BUT(1, d);
    __syncthreads();
    stages[EITHER(1, 0)][t] = x[t + 2]; // second
    PRODUCT_WAIT(e);
    y[t] = d.x + d.y + d.z + d.w + e.x + e.y + e.z + e.w;
}

/// The product is not committed, so that the wait does not wait for it.
// race of words; block 128
extern "C" __global__ void warpgroups_not_committed(const int* x, float* y)
{
    __shared__ __align__(128) int words[WORDS];
    int t = threadIdx.x;
    for (int i = t; i < WORDS; i += 128) words[i] = x[i];
    PROXY_FENCE;
    __syncthreads();
    float4 d = {};
    ISSUE(d, words); // first
    CLEAN(PRODUCT_COMMIT;)
    PRODUCT_WAIT(d);
    __syncthreads();
    words[t] = x[t + 1]; // second
    PRODUCT_COMMIT;
    PRODUCT_WAIT(d);
    y[t] = d.x + d.y + d.z + d.w;
}

/// A pipeline of three stages by cp.async; the wait leaves the product in flight whose stage is loaded next.
// race of stages; block 128
extern "C" __global__ void warpgroups_pipeline(const int* x, float* y)
{
    __shared__ __align__(128) int stages[3][WORDS];
    int t = threadIdx.x;
    float4 d = {};
    for (int k = 0; k < 2; ++k) {
        for (int i = t; i < WORDS / 4; i += 128) COPY16(stages[k] + 4 * i, x + 4 * i);
        COMMIT;
    }
#pragma unroll 1
    for (int k = 0; k < 6; ++k) {
        WAIT_GROUP(0);
        PROXY_FENCE;
        __syncthreads();
        MULTIPLY(d, stages[k % 3]); // first
        PRODUCT_WAIT_BUT(EITHER(2, 1), d);
        int next = (k + 2) % 3;
        if (k < 4) for (int i = t; i < WORDS / 4; i += 128) COPY16(stages[next] + 4 * i, x + 4 * i); // second
        COMMIT;
    }
    PRODUCT_WAIT(d);
    WAIT_GROUP(0);
    y[t] = d.x + d.y + d.z + d.w;
}

/// As in CUTLASS, one thread of a warpgroup releases a stage for all: that of the step before, or the one still read.
// race of stages; block 160
extern "C" __global__ void warpgroups_release(const int* x, float* y)
{
    __shared__ __align__(128) int stages[3][WORDS];
    __shared__ __align__(8) unsigned long long full[3], empty[3];
    int t = threadIdx.x;
    if (t == 0) for (int k = 0; k < 3; ++k) { MB_INIT(&full[k], 1); MB_INIT(&empty[k], 1); }
    __syncthreads();
    if (t >= 128) {
        for (int k = 0; t == 128 && k < 9; ++k) {
            if (k >= 3) MB_WAIT(&empty[k % 3], (k / 3 + 1) & 1);
            MB_EXPECT(&full[k % 3], 4 * WORDS);
            BULK_LOAD(stages[k % 3], x, 4 * WORDS, &full[k % 3]); // second
        }
        return;
    }
    float4 d = {};
#pragma unroll 1
    for (int k = 0; k < 9; ++k) {
        MB_WAIT(&full[k % 3], k / 3 & 1);
        MULTIPLY(d, stages[k % 3]); // first
        PRODUCT_WAIT_BUT(1, d);
        int done = k - EITHER(0, 1);
        if (t == 77 && done >= 0) MB_ARRIVE(&empty[done % 3]);
    }
    PRODUCT_WAIT(d);
    y[t] = d.x + d.y + d.z + d.w;
}

/// As above; the release comes before the wait.
// race of stages; block 160
extern "C" __global__ void warpgroups_release_early(const int* x, float* y)
{
    __shared__ __align__(128) int stages[2][WORDS];
    __shared__ __align__(8) unsigned long long full[2], empty[2];
    int t = threadIdx.x;
    if (t == 0) for (int k = 0; k < 2; ++k) { MB_INIT(&full[k], 1); MB_INIT(&empty[k], 4); }
    __syncthreads();
    if (t >= 128) {
        for (int k = 0; t == 128 && k < 6; ++k) {
            if (k >= 2) MB_WAIT(&empty[k % 2], (k / 2 + 1) & 1);
            MB_EXPECT(&full[k % 2], 4 * WORDS);
            BULK_LOAD(stages[k % 2], x, 4 * WORDS, &full[k % 2]); // second
        }
        return;
    }
    float4 d = {};
#pragma unroll 1
    for (int k = 0; k < 6; ++k) {
        MB_WAIT(&full[k % 2], k / 2 & 1);
        MULTIPLY(d, stages[k % 2]); // first
        PLANT(if (t % 32 == 0) MB_ARRIVE(&empty[k % 2]);)
        PRODUCT_WAIT(d);
        CLEAN(if (t % 32 == 0) MB_ARRIVE(&empty[k % 2]);)
    }
    y[t] = d.x + d.y + d.z + d.w;
}

/// No fence orders the registers before the first product.
// race; block 128
extern "C" __global__ void warpgroups_fence(const int* x, float* y)
{
    __shared__ __align__(128) int words[WORDS];
    int t = threadIdx.x;
    for (int i = t; i < WORDS; i += 128) words[i] = x[i];
    PROXY_FENCE;
    __syncthreads();
    float4 d = {};
    CLEAN(PRODUCT_FENCE;)
    ISSUE_ALONE(d, words); // first second
    PRODUCT_COMMIT;
    PRODUCT_WAIT(d);
    y[t] = d.x + d.y + d.z + d.w;
}
