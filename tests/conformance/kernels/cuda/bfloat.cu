// cuda_bf16: arithmetic, comparisons, conversions, functions. All run with: grid 4, block 256
#include <cuda_bf16.h>

#include "values.cuh"

#define OPERANDS                                                                     \
    int i = thread_of_grid();                                                        \
    __nv_bfloat16 a = __ushort_as_bfloat16(x[i]), b = __ushort_as_bfloat16(x[i + 1024]), c = __ushort_as_bfloat16(x[i + 2048])
#define PAIRS                                                                        \
    int i = thread_of_grid();                                                        \
    __nv_bfloat162 a = __halves2bfloat162(__ushort_as_bfloat16(x[i]), __ushort_as_bfloat16(x[i] >> 16)); \
    __nv_bfloat162 b = __halves2bfloat162(__ushort_as_bfloat16(x[i + 1024]), __ushort_as_bfloat16(x[i + 1024] >> 16)); \
    __nv_bfloat162 c = __halves2bfloat162(__ushort_as_bfloat16(x[i + 2048]), __ushort_as_bfloat16(x[i + 2048] >> 16))

__device__ unsigned bits(__nv_bfloat16 v) { return __bfloat16_as_ushort(v); }
__device__ unsigned bits(__nv_bfloat162 v) { return bits(__low2bfloat16(v)) | bits(__high2bfloat16(v)) << 16; }

extern "C" __global__ void arithmetic(const unsigned* x, unsigned* y)
{
    OPERANDS;
    unsigned* out = y + 16 * i;
    out[0] = bits(__hadd(a, b)), out[1] = bits(__hsub(a, b)), out[2] = bits(__hmul(a, b)), out[3] = bits(__hdiv(a, b));
    out[4] = bits(__hfma(a, b, c)), out[5] = bits(__hadd_sat(a, b)), out[6] = bits(__hfma_relu(a, b, c));
    out[7] = bits(__habs(a)), out[8] = bits(__hneg(a)), out[9] = bits(__hmax(a, b)), out[10] = bits(__hmin_nan(a, b));
    out[11] = bits(a + b * c), out[12] = bits(a / (b + __float2bfloat16(1.0f))), out[13] = bits(__hadd_rn(a, c));
    out[14] = bits(__hmul_rn(b, c)), out[15] = bits(__hfma_sat(a, b, c));
}

extern "C" __global__ void pair_arithmetic(const unsigned* x, unsigned* y)
{
    PAIRS;
    unsigned* out = y + 16 * i;
    out[0] = bits(__hadd2(a, b)), out[1] = bits(__hsub2(a, b)), out[2] = bits(__hmul2(a, b)), out[3] = bits(__h2div(a, b));
    out[4] = bits(__hfma2(a, b, c)), out[5] = bits(__hadd2_sat(a, b)), out[6] = bits(__hfma2_relu(a, b, c));
    out[7] = bits(__habs2(a)), out[8] = bits(__hneg2(a)), out[9] = bits(__hmax2(a, b)), out[10] = bits(__hmin2_nan(a, b));
    out[11] = bits(a + b * c), out[12] = bits(__hcmadd(a, b, c)), out[13] = bits(__lowhigh2highlow(a));
    out[14] = bits(__heq2(a, b)), out[15] = __hbltu2(a, b) | __hble2(a, c) << 1 | __hltu2_mask(a, b) << 2;
}

extern "C" __global__ void comparisons(const unsigned* x, unsigned* y)
{
    OPERANDS;
    y[i] = __heq(a, b) | __hne(a, b) << 1 | __hlt(a, b) << 2 | __hle(a, b) << 3 | __hgt(a, c) << 4 | __hge(a, c) << 5 |
           __hequ(a, b) << 6 | __hneu(a, b) << 7 | __hltu(a, b) << 8 | __hgeu(a, c) << 9 | __hisnan(a) << 10 |
           (__hisinf(a) & 3) << 11 | (a < b) << 13 | (b >= c) << 14;
}

extern "C" __global__ void conversions(const unsigned* x, unsigned* y)
{
    OPERANDS;
    unsigned* out = y + 20 * i;
    float f = single_of(x[i], i), g = single_of(x[i + 1024], i / 2) * 100.0f;
    out[0] = bits(__float2bfloat16(g)), out[1] = bits(__float2bfloat16_rz(g)), out[2] = bits(__float2bfloat16_rd(f));
    out[3] = bits(__float2bfloat16_ru(g)), out[4] = bits(__floats2bfloat162_rn(f, g)), out[5] = __float_as_uint(__bfloat162float(a));
    out[6] = __bfloat162int_rn(a), out[7] = __bfloat162int_rz(a), out[8] = __bfloat162uint_rd(a), out[9] = __bfloat162short_ru(a);
    out[10] = (unsigned)__bfloat162ll_rz(a), out[11] = bits(__int2bfloat16_rn(x[i] % 200000)), out[12] = bits(__uint2bfloat16_rz(x[i] % 99999));
    out[13] = bits(__short2bfloat16_rd(x[i])), out[14] = bits(__ll2bfloat16_ru(x[i])), out[15] = bits(__double2bfloat16(double_of(x[i], x[i + 1], 0)));
    out[16] = bits(hceil(a)), out[17] = bits(hfloor(a)), out[18] = bits(hrint(a)), out[19] = bits(htrunc(a));
}

extern "C" __global__ void functions(const unsigned* x, unsigned* y)
{
    OPERANDS;
    unsigned* out = y + 14 * i;
    out[0] = bits(hsqrt(a)), out[1] = bits(hrsqrt(a)), out[2] = bits(hrcp(a)), out[3] = bits(hexp(a)), out[4] = bits(hexp2(a));
    out[5] = bits(hexp10(a)), out[6] = bits(hlog(a)), out[7] = bits(hlog2(a)), out[8] = bits(hlog10(a)), out[9] = bits(hsin(a));
    out[10] = bits(hcos(a)), out[11] = bits(htanh(a)), out[12] = bits(htanh_approx(a)), out[13] = bits(h2exp(__bfloat162bfloat162(b)));
}

extern "C" __global__ void atomics(const unsigned* x, unsigned* y)
{
    __shared__ __nv_bfloat162 pair;
    __shared__ __nv_bfloat16 one;
    if (threadIdx.x == 0) pair = __float2bfloat162_rn(0.0f), one = __float2bfloat16(0.0f);
    __syncthreads();
    // Sums that eight bits hold at every step: the order makes no difference.
    atomicAdd(&pair, __floats2bfloat162_rn(x[threadIdx.x] & 1, threadIdx.x & 1));
    atomicAdd(&one, __float2bfloat16(2.0f));
    __syncthreads();
    if (threadIdx.x == 0) y[2 * blockIdx.x] = bits(pair), y[2 * blockIdx.x + 1] = bits(one);
}

extern "C" __global__ void warps(const unsigned* x, unsigned* y)
{
    PAIRS;
    y[i] = bits(__shfl_xor_sync(0xffffffff, a, 5)) + bits(__shfl_down_sync(0xffffffff, __low2bfloat16(b), 2)) + bits(__ldg(reinterpret_cast<const __nv_bfloat162*>(x + i)));
    (void)c;
}
