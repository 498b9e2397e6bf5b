// Reads of memory that was never written.
#include "planted.cuh"

/// A shared array that nobody fills.
// uninitialized of words; block 32
extern "C" __global__ void uninitialized_shared(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x;
    CLEAN(words[t] = x[t];)
    PLANT(if (x[t] < 0) words[t] = x[t];)
    __syncthreads();
    y[t] = words[31 - t]; // first
}

/// The last element is not filled.
// uninitialized of words; block 64
extern "C" __global__ void uninitialized_last(const int* x, int* y)
{
    __shared__ int words[65];
    int t = threadIdx.x;
    words[t] = x[t];
    CLEAN(if (t == 0) words[64] = x[64];)
    __syncthreads();
    y[t] = words[t] + words[t + 1]; // first
}

/// A sum that begins with what is there.
// uninitialized of sums; block 32
extern "C" __global__ void uninitialized_sum(const int* x, int* y)
{
    __shared__ int sums[32];
    int t = threadIdx.x;
    CLEAN(sums[t] = 0;)
#pragma unroll 1
    for (int k = 0; k < 3; ++k) {
        sums[t] += x[32 * k + t]; // first
        __syncthreads();
    }
    y[t] = sums[31 - t];
}

/// An atomic on a counter that nobody has cleared.
// uninitialized of count; block 64
extern "C" __global__ void uninitialized_counter(const int* x, int* y)
{
    __shared__ int count;
    int t = threadIdx.x;
    CLEAN(if (t == 0) count = 0;)
    __syncthreads();
    atomicAdd(&count, x[t]); // first
    __syncthreads();
    y[t] = count; // first
}

/// The end of a dynamic array.
// uninitialized of dynamic; block 32, shared 256
extern "C" __global__ void uninitialized_dynamic(const int* x, int* y)
{
    extern __shared__ int dynamic[];
    int t = threadIdx.x;
    dynamic[t] = x[t];
    CLEAN(dynamic[t + 32] = x[t + 32];)
    __syncthreads();
    y[t] = dynamic[t] + dynamic[t + 32]; // first
}

/// Only in the last block, whose tile is not whole.
// uninitialized of tile; grid 3, block 32
extern "C" __global__ void uninitialized_last_block(const int* x, int* y)
{
    __shared__ int tile[32];
    int t = threadIdx.x, i = 32 * blockIdx.x + t;
    if (i < 80) tile[t] = x[i];
    CLEAN(else tile[t] = 0;)
    __syncthreads();
    y[i] = tile[31 - t]; // first
}

/// A reduction of a block that is no power of two.
// uninitialized of sums; block 48
extern "C" __global__ void uninitialized_reduction(const int* x, int* y)
{
    __shared__ int sums[64];
    int t = threadIdx.x;
    sums[t] = x[t];
    CLEAN(if (t < 16) sums[48 + t] = 0;)
    __syncthreads();
#pragma unroll 1
    for (int step = 32; step > 0; step /= 2) {
        if (t < step) sums[t] += sums[t + step]; // first
        __syncthreads();
    }
    if (t == 0) y[0] = sums[0];
}

/// Half of a word.
// uninitialized of words; block 32
extern "C" __global__ void uninitialized_half(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x;
    short* halves = reinterpret_cast<short*>(words);
    halves[2 * t] = (short)x[t];
    CLEAN(halves[2 * t + 1] = 0;)
    __syncthreads();
    y[t] = words[31 - t]; // first
}

/// One of four floats.
// uninitialized of row; block 32
extern "C" __global__ void uninitialized_vector(const float* x, float* y)
{
    __shared__ __align__(16) float row[128];
    int t = threadIdx.x;
    for (int k = 0; k < EITHER(3, 4); ++k) row[4 * t + k] = x[4 * t + k];
    __syncthreads();
    float4 v = reinterpret_cast<float4*>(row)[31 - t]; // first
    y[t] = v.x + v.y + v.z + v.w;
}

/// A local array of which a part is filled.
// uninitialized of local; block 32
extern "C" __global__ void uninitialized_local(const int* x, int* y)
{
    int local[16];
    int t = threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < EITHER(15, 16); ++k) local[x[k] % 16] = x[t + k];
    KEEP;
    y[t] = local[(t + x[0]) % 16]; // first
}

/// A buffer of the device that nobody has written.
// uninitialized of scratch; grid 2, block 32
// scratch: unwritten
extern "C" __global__ void uninitialized_buffer(const int* x, int* scratch, int* y)
{
    int i = 32 * blockIdx.x + threadIdx.x;
    CLEAN(scratch[i] = x[i];)
    PLANT(if (x[i] < 0) scratch[i] = x[i];)
    y[i] = scratch[i]; // first
}

/// One element of a buffer.
// uninitialized of scratch; block 64
// scratch: unwritten
extern "C" __global__ void uninitialized_element(const int* x, int* scratch, int* y)
{
    int t = threadIdx.x;
    if (t != EITHER(40, 64)) scratch[t] = x[t];
    __syncthreads();
    y[t] = scratch[63 - t]; // first
}

/// Memory of the heap.
// uninitialized of heap; block 32
extern "C" __global__ void uninitialized_heap(const int* x, int* y)
{
    int t = threadIdx.x;
    int* own = static_cast<int*>(malloc(4 * sizeof(int)));
    for (int k = 0; k < EITHER(3, 4); ++k) own[x[k] % 4] = x[t];
    KEEP;
    y[t] = own[x[t] % 4]; // first
    free(own);
}

/// Memory of the heap that was freed and given out again.
// uninitialized of heap; block 1
extern "C" __global__ void uninitialized_heap_again(const int* x, int* y)
{
    int* one = static_cast<int*>(malloc(64));
    one[0] = x[0];
    y[0] = one[0];
    free(one);
    KEEP;
    int* two = static_cast<int*>(malloc(64));
    CLEAN(two[0] = x[1];)
    KEEP;
    y[1] = two[0]; // first
    free(two);
}

/// An asynchronous copy of fewer bytes than are read.
// uninitialized of words; block 32
extern "C" __global__ void uninitialized_copy(const int* x, int* y)
{
    __shared__ __align__(128) int words[64];
    __shared__ __align__(8) unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) MB_INIT(&bar, 1);
    __syncthreads();
    if (t == 0) {
        MB_EXPECT(&bar, EITHER(240, 256));
        BULK_LOAD(words, x, EITHER(240, 256), &bar);
    }
    MB_WAIT(&bar, 0);
    y[t] = words[63 - t]; // first
}

/// A bulk store of more than was written.
// uninitialized of words; block 32
extern "C" __global__ void uninitialized_store(const int* x, int* y)
{
    __shared__ __align__(128) int words[64];
    int t = threadIdx.x;
    words[t] = x[t];
    CLEAN(words[t + 32] = x[t + 32];)
    PLANT(if (x[t] < 0) words[t + 32] = x[t + 32];)
    PROXY_FENCE;
    __syncthreads();
    if (t == 0) {
        BULK_STORE(y, words, 256); // first
        BULK_COMMIT;
        BULK_WAIT;
    }
}

__device__ __noinline__ int* uninitialized_chosen(int* local, int* shared, int which) { return which ? local : shared; }

/// A local array that is filled through a pointer, which may be one to shared memory.
// uninitialized of local; block 32
extern "C" __global__ void uninitialized_local_pointer(const int* x, int* y)
{
    __shared__ int words[32];
    int local[16];
    int t = threadIdx.x;
    int* chosen = uninitialized_chosen(local, words, x[0]);
#pragma unroll 1
    for (int k = 0; k < EITHER(15, 16); ++k) chosen[x[k] % 16] = x[t + k];
    words[t] = t;
    __syncthreads();
    y[t] = local[(t + x[0]) % 16] + words[31 - t]; // first
}

/// A path on which the value is not set.
// uninitialized of word; block 64
extern "C" __global__ void uninitialized_path(const int* x, int* y)
{
    __shared__ int word;
    int t = threadIdx.x;
    CLEAN(if (t == 0) word = -1;)
    __syncthreads();
    if (t == 5 && x[t] > 1000) word = x[t];
    __syncthreads();
    y[t] = word; // first
}

/// A field of a structure in shared memory.
// uninitialized of state; block 32
extern "C" __global__ void uninitialized_field(const int* x, int* y)
{
    __shared__ struct { int count; int limit; } state;
    int t = threadIdx.x;
    if (t == 0) {
        state.count = x[0];
        CLEAN(state.limit = x[1];)
        PLANT(if (x[1] < 0) state.limit = x[1];)
    }
    __syncthreads();
    y[t] = t < state.limit ? state.count : 0; // first
}

/// A bulk copy from a buffer that nobody has written.
// uninitialized of z; block 64
// z: unwritten
extern "C" __global__ void uninitialized_bulk_copy(const int* x, int* z, int* y)
{
    __shared__ __align__(128) int words[64];
    __shared__ __align__(8) unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) MB_INIT(&bar, 1);
    CLEAN(z[t] = x[t];)
    PROXY_FENCE;
    __syncthreads();
    if (t == 0) {
        MB_EXPECT(&bar, 256);
        BULK_LOAD(words, z, 256, &bar); // first
    }
    MB_WAIT(&bar, 0);
    y[t] = words[63 - t];
}

/// A bulk copy writes half of what is read.
// uninitialized of z; block 64
// z: unwritten
extern "C" __global__ void uninitialized_bulk_target(const int* x, int* z, int* y)
{
    __shared__ __align__(128) int words[64];
    int t = threadIdx.x;
    words[t] = x[t];
    PROXY_FENCE;
    __syncthreads();
    if (t == 0) {
        BULK_STORE(z, words, EITHER(128, 256));
        BULK_COMMIT;
        BULK_WAIT;
    }
    __syncthreads();
    y[t] = z[63 - t]; // first
}
