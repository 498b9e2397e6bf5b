// $Revision: 1.1 $
// Attention without a matrix of scores in memory: softmax(Q K' / 8) V, forward, for heads of 64 numbers.
// A warpgroup takes 64 queries and goes over the keys in tiles of 64. The scores stay in registers, where they become A
// of the second product. After Dao, FlashAttention-2 (2023). The length is a multiple of 64.
#include "wgmma.cuh"

constexpr int TILE = 64, DEPTH = 64, THREADS = 128, BYTES = TILE * wgmma::ROW;

__device__ inline void load(unsigned tile, const __half *rows) {
  for (int i = threadIdx.x; i < TILE * 8; i += THREADS)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(tile + wgmma::swizzled(i / 8, i % 8)), "l"(rows + i * 8)
                 : "memory");
}

__device__ inline void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Four neighbouring lanes hold a row.
__device__ inline float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffff, x, 2));
}

__device__ inline float row_sum(float x) {
  x += __shfl_xor_sync(0xffffffff, x, 1);
  return x + __shfl_xor_sync(0xffffffff, x, 2);
}

__device__ inline unsigned packed(float low, float high) {
  __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<unsigned *>(&pair);
}

// Grid: tiles of queries along x, heads along y. `causal`: a query sees no later key. sums: log2 of each query's sum.
extern "C" __global__ void __launch_bounds__(THREADS)
    attention(const __half *q, const __half *k, const __half *v, __half *o, float *sums, int length, int causal) {
  extern __shared__ __align__(1024) unsigned char tiles[];  // Q, and two stages of K and V
  unsigned shared = wgmma::shared_address(tiles);
  size_t head = static_cast<size_t>(blockIdx.y) * length;
  int first = blockIdx.x * TILE, steps = causal ? blockIdx.x + 1 : length / TILE;
  k += head * DEPTH;
  v += head * DEPTH;
  load(shared, q + (head + first) * DEPTH);
  load(shared + BYTES, k);
  load(shared + 2 * BYTES, v);
  commit();

  const float scale = 0.125f * 1.4426950408889634f;
  float out[32] = {}, most[2] = {-INFINITY, -INFINITY}, total[2] = {0.0f, 0.0f};
  int row = first + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
  for (int step = 0; step < steps; step++) {
    unsigned stage = shared + BYTES + step % 2 * 2 * BYTES;
    if (step + 1 < steps) {
      unsigned next = shared + BYTES + (step + 1) % 2 * 2 * BYTES;
      load(next, k + (step + 1) * TILE * DEPTH);
      load(next + BYTES, v + (step + 1) * TILE * DEPTH);
      commit();
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();

    float scores[32];
    wgmma::fence();
    for (int part = 0; part < 4; part++)
      wgmma::m64n64k16<0>(scores, wgmma::descriptor(shared + 32 * part, 0), wgmma::descriptor(stage + 32 * part, 0), part > 0);
    wgmma::commit();
    wgmma::wait<0>();

    for (int half = 0; half < 2; half++) {
      float high = -INFINITY;
      for (int i = 2 * half; i < 32; i += i % 4 == 2 * half ? 1 : 3) {
        int key = step * TILE + i / 4 * 8 + column + i % 2;
        scores[i] = causal && key > row + 8 * half ? -INFINITY : scores[i] * scale;
        high = fmaxf(high, scores[i]);
      }
      high = fmaxf(most[half], row_max(high));
      float kept = exp2f(most[half] - high), sum = 0.0f;
      for (int i = 2 * half; i < 32; i += i % 4 == 2 * half ? 1 : 3) {
        scores[i] = exp2f(scores[i] - high);
        sum += scores[i];
        out[i] *= kept;
      }
      total[half] = total[half] * kept + sum;
      most[half] = high;
    }

    unsigned p[4][4];
    for (int part = 0; part < 4; part++)
      for (int r = 0; r < 4; r++) p[part][r] = packed(scores[8 * part + 2 * r], scores[8 * part + 2 * r + 1]);
    wgmma::fence();
    for (int part = 0; part < 4; part++)
      wgmma::m64n64k16<1>(out, p[part], wgmma::descriptor(stage + BYTES + 16 * wgmma::ROW * part, 0), 1);
    wgmma::commit();
    wgmma::wait<0>();
    __syncthreads();
  }

  for (int half = 0; half < 2; half++) {
    float sum = row_sum(total[half]);
    size_t query = head + row + 8 * half;
    for (int i = 2 * half; i < 32; i += 4)
      *reinterpret_cast<unsigned *>(o + query * DEPTH + i / 4 * 8 + column) = packed(out[i] / sum, out[i + 1] / sum);
    if (column == 0) sums[query] = most[half] + log2f(sum);
  }
}
