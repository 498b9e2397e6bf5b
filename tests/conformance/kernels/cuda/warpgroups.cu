// Products of warpgroups, and what their kernels use besides. All run with: grid 4, block 128
// Only for: sm_90a
#include "../../../../kernels/include/wgmma.cuh"
#include "values.cuh"

// Tiles of 64 x 64 halves below 2: 8 KB each, filled from the random words.
__device__ inline void fill(unsigned char *tile, const unsigned *x, int seed, int threads, int own)
{
    for (int i = own; i < 512; i += threads) {
        uint4 v = reinterpret_cast<const uint4*>(x)[(i + 97 * seed) & 2047];
        v.x &= 0xBFFFBFFF, v.y &= 0xBFFFBFFF, v.z &= 0xBFFFBFFF, v.w &= 0xBFFFBFFF;
        *reinterpret_cast<uint4*>(tile + wgmma::swizzled(i / 8, i % 8)) = v;
    }
}

__device__ inline void store(unsigned* y, const float (&d)[32])
{
    for (int i = 0; i < 32; i++) y[(thread_of_grid() * 32 + i) & 65535] = __float_as_uint(d[i]);
}

__device__ inline void multiply(float (&d)[32], unsigned a, unsigned b, bool clear)
{
    for (int k = 0; k < 4; k++)
        wgmma::m64n64k16<0>(d, wgmma::descriptor(a + 32 * k, 0), wgmma::descriptor(b + 32 * k, 0), !clear || k > 0);
}

// Two products in flight, each in a group of its own; the first is used while the second runs.
extern "C" __global__ void two_in_flight(const unsigned* x, unsigned* y)
{
    __shared__ __align__(1024) unsigned char tiles[3][8192];
    for (int t = 0; t < 3; t++) fill(tiles[t], x, t + blockIdx.x, 128, threadIdx.x);
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    unsigned shared = wgmma::shared_address(tiles);
    float d[32], e[32];
    wgmma::fence();
    multiply(d, shared, shared + 8192, true);
    wgmma::commit();
    multiply(e, shared, shared + 16384, true);
    wgmma::commit();
    wgmma::wait<1>();
    for (int i = 0; i < 32; i++) d[i] = d[i] * 0.25f;
    wgmma::wait<0>();
    for (int i = 0; i < 32; i++) d[i] += e[i];
    store(y, d);
}

// Sums of the first product become A of the second.
extern "C" __global__ void chained(const unsigned* x, unsigned* y)
{
    __shared__ __align__(1024) unsigned char tiles[2][8192];
    for (int t = 0; t < 2; t++) fill(tiles[t], x, t + 3 * blockIdx.x, 128, threadIdx.x);
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    unsigned shared = wgmma::shared_address(tiles);
    float d[32], e[32];
    wgmma::fence();
    multiply(d, shared, shared + 8192, true);
    wgmma::commit();
    wgmma::wait<0>();
    unsigned a[4][4];
    for (int k = 0; k < 4; k++)
        for (int r = 0; r < 4; r++) {
            __half2 pair = __floats2half2_rn(d[8 * k + 2 * r], d[8 * k + 2 * r + 1]);
            a[k][r] = *reinterpret_cast<unsigned*>(&pair);
        }
    wgmma::fence();
    for (int k = 0; k < 4; k++)
        wgmma::m64n64k16<1>(e, a[k], wgmma::descriptor(shared + 8192 + 16 * wgmma::ROW * k, 0), k > 0);
    wgmma::commit();
    wgmma::wait<0>();
    store(y, e);
}

// Two warpgroups with tiles of their own for A and one for B.
// grid 2, block 256
extern "C" __global__ void two_warpgroups(const unsigned* x, unsigned* y)
{
    __shared__ __align__(1024) unsigned char tiles[3][8192];
    for (int t = 0; t < 3; t++) fill(tiles[t], x, t + 5 * blockIdx.x, 256, threadIdx.x);
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    unsigned shared = wgmma::shared_address(tiles);
    float d[32];
    wgmma::fence();
    multiply(d, shared + threadIdx.x / 128 * 8192, shared + 16384, true);
    wgmma::commit();
    wgmma::wait<0>();
    store(y, d);
}

// A warpgroup that fills tiles, and one that multiplies them: two stages with a barrier full and one empty each.
// grid 2, block 256
extern "C" __global__ void __launch_bounds__(256) specialised(const unsigned* x, unsigned* y)
{
    __shared__ __align__(1024) unsigned char tiles[2][2][8192];
    __shared__ unsigned long long bars[4];
    unsigned bar = wgmma::shared_address(bars), shared = wgmma::shared_address(tiles);
    if (threadIdx.x == 0) {
        for (int i = 0; i < 4; i++) asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" ::"r"(bar + 8 * i) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    auto wait = [](unsigned at, int phase) {
        asm volatile(
            "{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again;}" ::"r"(at), "r"(phase)
            : "memory");
    };
    auto arrive = [](unsigned at) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory"); };
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        for (int step = 0; step < 4; step++) {
            int stage = step % 2;
            if (step > 1) wait(bar + 16 + 8 * stage, step / 2 - 1 & 1);
            for (int t = 0; t < 2; t++) fill(tiles[stage][t], x, 2 * step + t + 11 * blockIdx.x, 128, threadIdx.x);
            asm volatile("fence.proxy.async;" ::: "memory");
            arrive(bar + 8 * stage);
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 216;");
        float d[32];
        for (int step = 0; step < 4; step++) {
            int stage = step % 2;
            wait(bar + 8 * stage, step / 2 & 1);
            wgmma::fence();
            multiply(d, shared + stage * 16384, shared + stage * 16384 + 8192, step == 0);
            wgmma::commit();
            wgmma::wait<0>();
            arrive(bar + 16 + 8 * stage);
        }
        store(y, d);
    }
}

// One lane of each warp, elected; grids that follow each other.
extern "C" __global__ void elected(const unsigned* x, unsigned* y)
{
    cudaGridDependencySynchronize();
    unsigned chosen, lane;
    asm volatile("{.reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p;}" : "=r"(lane), "=r"(chosen));
    y[thread_of_grid()] = x[thread_of_grid()] * (chosen + 2) + lane;
    cudaTriggerProgrammaticLaunchCompletion();
}
