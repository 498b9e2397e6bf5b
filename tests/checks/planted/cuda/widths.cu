// Accesses of different widths, and one memory under several names.
#include "planted.cuh"

/// Neighbouring bytes are no race; one byte is.
// race of bytes; block 64
extern "C" __global__ void widths_bytes(const int* x, int* y)
{
    __shared__ unsigned char bytes[64];
    int t = threadIdx.x;
    if (t < 64) bytes[EITHER(t / 2, t)] = (unsigned char)(x[t] + t); // first second
    __syncthreads();
    y[t] = bytes[t / 2];
}

/// One thread changes its byte by way of the whole word.
// race of words; block 64
extern "C" __global__ void widths_byte_in_word(const int* x, int* y)
{
    __shared__ unsigned words[16];
    int t = threadIdx.x;
    if (t < 16) words[t] = 0;
    __syncthreads();
#ifdef PLANTED
    words[t / 4] |= (unsigned)(x[t] & 255) << (t % 4 * 8); // first second
#else
    reinterpret_cast<unsigned char*>(words)[t] = (unsigned char)x[t];
#endif
    __syncthreads();
    y[t] = words[t / 4];
}

/// A vector of four covers an element of another thread.
// race of row; block 64
extern "C" __global__ void widths_vector_over_float(const int* x, float* y)
{
    __shared__ __align__(16) float row[256];
    int t = threadIdx.x;
    row[t] = row[t + 64] = row[t + 128] = row[t + 192] = 0;
    __syncthreads();
    if (t < 32) *reinterpret_cast<float4*>(&row[4 * t]) = make_float4(1, 2, 3, (float)x[t]); // first
    else row[4 * t + EITHER(-125, 1)] = 5; // second
    __syncthreads();
    y[t] = row[t] + row[64 + t] + row[128 + t] + row[192 + t];
}

/// Two threads read vectors that a third one's element is in.
// race of row; block 64
extern "C" __global__ void widths_float_in_vector(const float* x, float* y)
{
    __shared__ __align__(16) float row[64];
    int t = threadIdx.x;
    row[t] = x[t]; // first
    CLEAN(__syncthreads();)
    float4 v = reinterpret_cast<float4*>(row)[(t + 8) % 16]; // second
    y[t] = v.x + v.y + v.z + v.w;
}

/// Halves of a word.
// race of halves; block 64
extern "C" __global__ void widths_halves(const int* x, int* y)
{
    __shared__ __align__(4) unsigned short halves[128];
    int t = threadIdx.x;
    halves[t] = (unsigned short)x[t]; // first
    halves[t + 64] = 0;
    CLEAN(__syncthreads();)
    y[t] = reinterpret_cast<int*>(halves)[31 - t / 2]; // second
}

/// A long word over two ints.
// race of pairs; block 64
extern "C" __global__ void widths_long_over_int(const int* x, int* y)
{
    __shared__ __align__(8) int pairs[256];
    int t = threadIdx.x;
    for (int k = t; k < 256; k += 64) pairs[k] = 0;
    __syncthreads();
    pairs[2 * t + EITHER(1, 128)] = x[t]; // first
    if (t < 32) reinterpret_cast<long long*>(pairs)[(t + 32) % 64 % EITHER(64, 33)] = t; // second
    __syncthreads();
    y[t] = pairs[2 * t];
}

/// A union read as its other member.
// race of scratch; block 64
extern "C" __global__ void widths_union(const int* x, float* y)
{
    __shared__ union { int ints[64]; float floats[64]; } scratch;
    int t = threadIdx.x;
    scratch.ints[t] = x[t]; // first
    __syncthreads();
    int v = scratch.ints[63 - t]; // first
    CLEAN(__syncthreads();)
    scratch.floats[t] = (float)v; // second
    __syncthreads();
    y[t] = scratch.floats[(t + 1) % 64];
}

/// Two views of one array by casts of its address.
// race of raw; block 64
extern "C" __global__ void widths_two_views(const int* x, int* y)
{
    __shared__ __align__(16) unsigned char raw[512];
    int* front = reinterpret_cast<int*>(raw);
    int* back = reinterpret_cast<int*>(raw + EITHER(252, 256));
    int t = threadIdx.x;
    front[t] = x[t]; // first
    back[t] = x[t + 64]; // second
    __syncthreads();
    y[t] = front[t] - back[t];
}

/// Fields of a structure.
// race of states; block 64
extern "C" __global__ void widths_fields(const int* x, int* y)
{
    struct State { char tag; short count; int value; };
    __shared__ State states[33];
    int t = threadIdx.x;
    if (t < 33) { states[t].tag = 0; states[t].count = 0; states[t].value = 0; }
    __syncthreads();
    if (t < 32) states[t].count = (short)x[t]; // first
    else states[t - 32].EITHER(count, tag) = (char)t; // second
    __syncthreads();
    y[t] = states[t / 2].tag + states[t / 2].count + states[t / 2].value;
}

/// Flags of one bit each: plain in the planted twin.
// race of mask; block 64
extern "C" __global__ void widths_bits(const int* x, int* y)
{
    __shared__ unsigned mask[2];
    int t = threadIdx.x;
    if (t < 2) mask[t] = 0;
    __syncthreads();
    if (x[t] & 1) {
        EITHER(mask[t / 32] |= 1u << (t % 32), atomicOr(&mask[t / 32], 1u << (t % 32))); // first second
    }
    __syncthreads();
    y[t] = mask[0] ^ mask[1];
}

/// Two dynamic shared arrays; the second begins one element too early.
// race of dynamic; block 64, shared 512
extern "C" __global__ void widths_dynamic_overlap(const int* x, int* y)
{
    extern __shared__ int dynamic[];
    int* keys = dynamic;
    int* values = dynamic + EITHER(63, 64);
    int t = threadIdx.x;
    keys[t] = x[t]; // first
    values[t] = x[t + 64]; // second
    __syncthreads();
    y[t] = keys[t] * 2 + values[63 - t];
}

/// The second dynamic array's offset counts elements where it must count bytes.
// race of dynamic; block 64, shared 512
extern "C" __global__ void widths_dynamic_bytes(const int* x, int* y)
{
    extern __shared__ int dynamic[];
    int* keys = dynamic;
    int* values = reinterpret_cast<int*>(reinterpret_cast<char*>(dynamic) + EITHER(64, 64 * sizeof(int)));
    int t = threadIdx.x;
    keys[t] = x[t]; // first
    values[t] = -x[t]; // second
    __syncthreads();
    y[t] = keys[t] + values[t];
}

/// Dynamic arrays of two types; the count of the first is that of another launch.
// race of sums; block 64, shared 1024
extern "C" __global__ void widths_dynamic_types(const int* x, double* y)
{
    extern __shared__ double sums[];
    int t = threadIdx.x, count = EITHER(blockDim.x / 2, blockDim.x);
    int* marks = reinterpret_cast<int*>(sums + count);
    sums[t] = x[t]; // first
    marks[t] = t; // second
    __syncthreads();
    y[t] = sums[63 - t] + marks[t];
}

/// Bytes of one buffer, written by blocks.
// race of bytes; grid 4, block 32
extern "C" __global__ void widths_bytes_of_blocks(const int* x, unsigned char* bytes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bytes[EITHER(i / 2 * 2 % 96, i)] = (unsigned char)(x[i] + i); // first second
}

/// Blocks set their byte in a word that they share.
// race of words; grid 4, block 32
extern "C" __global__ void widths_word_of_blocks(const int* x, unsigned* words)
{
    int t = threadIdx.x;
#ifdef PLANTED
    words[t] += (unsigned)(x[t] & 255) << (8 * blockIdx.x); // first second
#else
    reinterpret_cast<unsigned char*>(words)[4 * t + blockIdx.x] = (unsigned char)x[t];
#endif
}
