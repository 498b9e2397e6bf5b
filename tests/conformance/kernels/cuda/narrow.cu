// Numbers of eight, six and four bits: to and from float, double, half and bfloat16. All run with: grid 4, block 256
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include "values.cuh"

extern "C" __global__ void to_eight_bits(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    unsigned* out = y + 12 * i;
    float f = single_of(x[i], i);
    double d = double_of(x[i], x[i + 1024], i / 2);
    float2 two = make_float2(f, single_of(x[i + 2048], i + 1));
    __half_raw h = __half_raw(__float2half(i % 3 ? f : f * 64.0f));
    __nv_bfloat16_raw b = __nv_bfloat16_raw(__float2bfloat16(f));
    out[0] = __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E4M3);
    out[1] = __nv_cvt_float_to_fp8(f, __NV_NOSAT, __NV_E4M3);
    out[2] = __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E5M2);
    out[3] = __nv_cvt_float_to_fp8(f, __NV_NOSAT, __NV_E5M2);
    out[4] = __nv_cvt_double_to_fp8(d, __NV_SATFINITE, __NV_E4M3);
    out[5] = __nv_cvt_double_to_fp8(d, __NV_NOSAT, __NV_E5M2);
    out[6] = __nv_cvt_halfraw_to_fp8(h, __NV_SATFINITE, __NV_E4M3) | __nv_cvt_halfraw_to_fp8(h, __NV_NOSAT, __NV_E5M2) << 8;
    out[7] = __nv_cvt_bfloat16raw_to_fp8(b, __NV_SATFINITE, __NV_E4M3);
    out[8] = __nv_cvt_bfloat16raw_to_fp8(b, __NV_NOSAT, __NV_E5M2);
    out[9] = __nv_cvt_float2_to_fp8x2(two, __NV_SATFINITE, __NV_E4M3);
    out[10] = __nv_cvt_float2_to_fp8x2(two, __NV_SATFINITE, __NV_E5M2);
    out[11] = __nv_cvt_float_to_e8m0(f, __NV_SATFINITE, cudaRoundPosInf) | __nv_cvt_float_to_e8m0(f, __NV_SATFINITE, cudaRoundZero) << 8;
}

extern "C" __global__ void to_fewer_bits(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    unsigned* out = y + 9 * i;
    float f = single_of(x[i], i) * (i % 4 ? 1.0f : 0.125f);
    double d = double_of(x[i], x[i + 1024], i / 2);
    float2 two = make_float2(f, single_of(x[i + 2048], i + 1));
    __half_raw h = __half_raw(__float2half(f));
    __nv_bfloat16_raw b = __nv_bfloat16_raw(__float2bfloat16(f));
    out[0] = __nv_cvt_float_to_fp6(f, __NV_E2M3, cudaRoundNearest);
    out[1] = __nv_cvt_float_to_fp6(f, __NV_E3M2, cudaRoundNearest);
    out[2] = __nv_cvt_float_to_fp4(f, __NV_E2M1, cudaRoundNearest);
    out[3] = __nv_cvt_double_to_fp6(d, __NV_E3M2, cudaRoundNearest) | __nv_cvt_double_to_fp4(d, __NV_E2M1, cudaRoundNearest) << 8;
    out[4] = __nv_cvt_halfraw_to_fp6(h, __NV_E2M3, cudaRoundNearest) | __nv_cvt_halfraw_to_fp4(h, __NV_E2M1, cudaRoundNearest) << 8;
    out[5] = __nv_cvt_bfloat16raw_to_fp6(b, __NV_E3M2, cudaRoundNearest);
    out[6] = __nv_cvt_bfloat16raw_to_fp4(b, __NV_E2M1, cudaRoundNearest);
    out[7] = __nv_cvt_float2_to_fp6x2(two, __NV_E2M3, cudaRoundNearest);
    out[8] = __nv_cvt_float2_to_fp4x2(two, __NV_E2M1, cudaRoundNearest);
}

extern "C" __global__ void from_narrow(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    unsigned* out = y + 7 * i;
    unsigned char byte = i & 255;
    unsigned short both = byte | (x[i] & 0xff) << 8;
    out[0] = __nv_cvt_fp8_to_halfraw(byte, __NV_E4M3).x | __nv_cvt_fp8_to_halfraw(byte, __NV_E5M2).x << 16;
    __half2_raw pair = __nv_cvt_fp8x2_to_halfraw2(both, __NV_E4M3);
    out[1] = pair.x | pair.y << 16;
    pair = __nv_cvt_fp8x2_to_halfraw2(both, __NV_E5M2);
    out[2] = pair.x | pair.y << 16;
    out[3] = __nv_cvt_fp6_to_halfraw(byte & 63, __NV_E2M3).x | __nv_cvt_fp6_to_halfraw(byte & 63, __NV_E3M2).x << 16;
    out[4] = __nv_cvt_fp4_to_halfraw(byte & 15, __NV_E2M1).x | __nv_cvt_e8m0_to_bf16raw(byte).x << 16;
    __nv_fp8_e4m3 small;
    small.__x = byte;
    out[5] = __float_as_uint((float)small) + (unsigned)(int)small + (bool)small;
    __nv_fp8x4_e5m2 four(make_float4(single_of(x[i], i), 1.5f, -2.25f, unit(x[i])));
    float4 back = float4(four);
    out[6] = four.__x ^ __float_as_uint(back.x) ^ __float_as_uint(back.w);
}
