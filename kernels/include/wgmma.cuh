// Products of a warpgroup on Hopper: matrices in shared memory with a swizzle of 128 bytes, results in registers.
#pragma once
#include <cuda_fp16.h>

namespace wgmma {

// Bytes of a row of a tile: 64 halves. Eight rows are a core matrix of 1024 bytes.
constexpr int ROW = 128, CORE = 1024;

// Where the 16 bytes number `chunk` of row `row` lie in a tile that begins at a multiple of 1024 bytes.
__device__ inline int swizzled(int row, int chunk) { return row * ROW + ((chunk ^ (row & 7)) << 4); }

__device__ inline unsigned shared_address(const void *pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// `leading`: bytes from 64 columns to the next, where the rows of memory go across them; otherwise not used.
__device__ inline unsigned long long descriptor(unsigned address, unsigned leading) {
  return (address & 0x3FFFF) >> 4 | static_cast<unsigned long long>(leading >> 4) << 16 |
         static_cast<unsigned long long>(CORE >> 4) << 32 | 1ull << 62;
}

__device__ inline void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int GROUPS> __device__ inline void wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(GROUPS) : "memory");
}

#define WGMMA_4(d, i) "+f"((d)[i]), "+f"((d)[i + 1]), "+f"((d)[i + 2]), "+f"((d)[i + 3])
#define WGMMA_16(d, i) WGMMA_4(d, i), WGMMA_4(d, i + 4), WGMMA_4(d, i + 8), WGMMA_4(d, i + 12)

// d = a b, plus d if `add`: 64 x 64 of depth 16. B_ROWS: whether the rows of memory go across B's columns.
template <int B_ROWS> __device__ inline void m64n64k16(float (&d)[32], unsigned long long a, unsigned long long b, int add) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,"
      "%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, p, 1, 1, 0, %35;}\n"
      : WGMMA_16(d, 0), WGMMA_16(d, 16)
      : "l"(a), "l"(b), "r"(add), "n"(B_ROWS));
}

// The same with A in registers.
template <int B_ROWS>
__device__ inline void m64n64k16(float (&d)[32], const unsigned (&a)[4], unsigned long long b, int add) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,"
      "%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, {%32,%33,%34,%35}, %36, p, 1, 1, %38;}\n"
      : WGMMA_16(d, 0), WGMMA_16(d, 16)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(B_ROWS));
}

// d = a b, plus d if `add`: 64 x 128 of depth 16.
template <int B_ROWS> __device__ inline void m64n128k16(float (&d)[64], unsigned long long a, unsigned long long b, int add) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,"
      "%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,"
      "%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, %64, %65, p, 1, 1, 0, %67;}\n"
      : WGMMA_16(d, 0), WGMMA_16(d, 16), WGMMA_16(d, 32), WGMMA_16(d, 48)
      : "l"(a), "l"(b), "r"(add), "n"(B_ROWS));
}

} // namespace wgmma
