// $Revision: 1.1 $
// C = A B in half precision by the tensor cores of a warpgroup, fed by the tensor memory accelerator.
// One warpgroup copies tiles of 64 x 64 of A and 64 x 128 of B, up to three pairs ahead; the other one multiplies them.
// Each stage has a barrier for "full" and one for "empty". Elements beyond the matrices are copied as zeros.
#include <cuda.h>

#include "wgmma.cuh"

constexpr int M = 64, N = 128, K = 64, STAGES = 3, THREADS = 256;
constexpr int BOX = 64 * wgmma::ROW, STAGE = 3 * BOX;

__device__ inline void await(unsigned barrier, int phase) {
  asm volatile("{.reg .pred p;\nagain: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra again;}" ::"r"(barrier),
               "r"(phase)
               : "memory");
}

// Column `x` and row `y` of the box's first element.
__device__ inline void copy(unsigned to, const CUtensorMap &map, int x, int y, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
                   "r"(to), "l"(&map), "r"(x), "r"(y), "r"(barrier)
               : "memory");
}

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float *c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char tiles[];  // the stages, and behind them the barriers
  unsigned shared = wgmma::shared_address(tiles), full = shared + STAGES * STAGE, empty = full + 8 * STAGES;
  int steps = (k + K - 1) / K, rows = blockIdx.y * M, columns = blockIdx.x * N;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; stage++) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full + 8 * stage) : "memory");
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" ::"r"(empty + 8 * stage) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();

  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    for (int step = 0; threadIdx.x == 0 && step < steps; step++) {
      int stage = step % STAGES, round = step / STAGES;
      unsigned tile = shared + stage * STAGE, barrier = full + 8 * stage;
      if (round > 0) await(empty + 8 * stage, (round - 1) % 2);
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(STAGE) : "memory");
      copy(tile, a, step * K, rows, barrier);
      copy(tile + BOX, b, columns, step * K, barrier);
      copy(tile + 2 * BOX, b, columns + 64, step * K, barrier);
    }
    return;
  }

  asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  float d[64];
  for (int step = 0; step < steps; step++) {
    int stage = step % STAGES;
    unsigned tile = shared + stage * STAGE;
    await(full + 8 * stage, step / STAGES % 2);
    wgmma::fence();
    for (int part = 0; part < K / 16; part++)
      wgmma::m64n128k16<1>(d, wgmma::descriptor(tile + 32 * part, 0),
                           wgmma::descriptor(tile + BOX + 16 * wgmma::ROW * part, BOX), step > 0 || part > 0);
    wgmma::commit();
    wgmma::wait<0>();
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(empty + 8 * stage) : "memory");
  }
  int row = rows + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  for (int i = 0; i < 64; i += 2) {
    int x = columns + i / 4 * 8 + threadIdx.x % 4 * 2, y = row + i / 2 % 2 * 8;
    if (x < n && y < m) *reinterpret_cast<float2 *>(c + y * n + x) = make_float2(d[i], d[i + 1]);
  }
}
