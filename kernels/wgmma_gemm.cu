// $Revision: 1.1 $
// C = A B in half precision by the tensor cores of a warpgroup, sums in float; all matrices row by row.
// Tiles of 64 x 64 of A and 64 x 128 of B come by cp.async, one pair ahead. The sizes are multiples of the tile's.
#include "wgmma.cuh"

constexpr int M = 64, N = 128, K = 64, THREADS = 128;
constexpr int A_BYTES = M * K * 2, B_BYTES = K * N * 2, STAGE = A_BYTES + B_BYTES;

__device__ inline void copy(unsigned to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// A: 64 rows of 128 bytes. B: for each half of its columns 64 rows of 128 bytes.
__device__ inline void load(unsigned stage, const __half *a, const __half *b, int n, int k) {
  for (int i = threadIdx.x; i < M * 8; i += THREADS)
    copy(stage + wgmma::swizzled(i / 8, i % 8), a + (i / 8) * k + i % 8 * 8);
  for (int i = threadIdx.x; i < K * 16; i += THREADS) {
    int row = i / 16, chunk = i % 16;
    copy(stage + A_BYTES + chunk / 8 * (K * wgmma::ROW) + wgmma::swizzled(row, chunk % 8), b + row * n + chunk * 8);
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}

extern "C" __global__ void __launch_bounds__(THREADS) gemm(const __half *a, const __half *b, float *c, int n, int k) {
  extern __shared__ __align__(1024) unsigned char tiles[];
  unsigned shared = wgmma::shared_address(tiles);
  a += blockIdx.y * M * k;
  b += blockIdx.x * N;
  load(shared, a, b, n, k);
  float d[64];
  for (int step = 0; step < k / K; step++) {
    unsigned stage = shared + step % 2 * STAGE;
    if (step + 1 < k / K) {
      load(shared + (step + 1) % 2 * STAGE, a + (step + 1) * K, b + (step + 1) * K * n, n, k);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    wgmma::fence();
    for (int part = 0; part < K / 16; part++)
      wgmma::m64n128k16<1>(d, wgmma::descriptor(stage + 32 * part, 0),
                           wgmma::descriptor(stage + A_BYTES + 16 * wgmma::ROW * part, K * wgmma::ROW),
                           step > 0 || part > 0);
    wgmma::commit();
    wgmma::wait<0>();
    __syncthreads();
  }
  int row = blockIdx.y * M + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  for (int i = 0; i < 64; i += 2) {
    int column = blockIdx.x * N + i / 4 * 8 + threadIdx.x % 4 * 2;
    *reinterpret_cast<float2 *>(c + (row + i / 2 % 2 * 8) * n + column) = make_float2(d[i], d[i + 1]);
  }
}
