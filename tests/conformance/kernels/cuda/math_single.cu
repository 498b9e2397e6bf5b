// Every function of math.h on float32, one kernel each. All run with: grid 4, block 256
#include <math.h>

#include "values.cuh"

#define ONE(name)                                                                    \
    extern "C" __global__ void name##_1(const unsigned* x, unsigned* y)              \
    {                                                                                \
        int i = thread_of_grid();                                                    \
        y[i] = __float_as_uint(name(single_of(x[i], i)));                            \
    }
#define TWO(name)                                                                    \
    extern "C" __global__ void name##_2(const unsigned* x, unsigned* y)              \
    {                                                                                \
        int i = thread_of_grid();                                                    \
        y[i] = __float_as_uint(name(single_of(x[i], i), single_of(x[i + 1024], i / 2))); \
    }
#define THREE(name)                                                                  \
    extern "C" __global__ void name##_3(const unsigned* x, unsigned* y)              \
    {                                                                                \
        int i = thread_of_grid();                                                    \
        y[i] = __float_as_uint(                                                      \
            name(single_of(x[i], i), single_of(x[i + 1024], i / 2), single_of(x[i + 2048], i / 4))); \
    }
#define TEST(name)                                                                   \
    extern "C" __global__ void name##_1(const unsigned* x, unsigned* y)              \
    {                                                                                \
        int i = thread_of_grid();                                                    \
        y[i] = (unsigned)(name(single_of(x[i], i)));                                 \
    }

ONE(acosf) ONE(acoshf) ONE(asinf) ONE(asinhf) ONE(atanf) ONE(atanhf) ONE(cbrtf) ONE(ceilf) ONE(cosf) ONE(coshf)
ONE(cospif) ONE(cyl_bessel_i0f) ONE(cyl_bessel_i1f) ONE(erfcf) ONE(erfcinvf) ONE(erfcxf) ONE(erff) ONE(erfinvf)
ONE(exp10f) ONE(exp2f) ONE(expf) ONE(expm1f) ONE(fabsf) ONE(floorf) ONE(j0f) ONE(j1f) ONE(lgammaf) ONE(log10f)
ONE(log1pf) ONE(log2f) ONE(logbf) ONE(logf) ONE(nearbyintf) ONE(normcdff) ONE(normcdfinvf) ONE(rcbrtf) ONE(rintf)
ONE(roundf) ONE(rsqrtf) ONE(sinf) ONE(sinhf) ONE(sinpif) ONE(sqrtf) ONE(tanf) ONE(tanhf) ONE(tgammaf) ONE(truncf)
ONE(y0f) ONE(y1f)
TWO(atan2f) TWO(copysignf) TWO(fdimf) TWO(fdividef) TWO(fmaxf) TWO(fminf) TWO(fmodf) TWO(hypotf) TWO(nextafterf)
TWO(powf) TWO(remainderf) TWO(rhypotf)
THREE(fmaf) THREE(norm3df) THREE(rnorm3df)
TEST(ilogbf) TEST(llrintf) TEST(llroundf) TEST(lrintf) TEST(lroundf) TEST(isfinite) TEST(isinf) TEST(isnan) TEST(signbit)

ONE(__cosf) ONE(__exp10f) ONE(__expf) ONE(__frcp_rd) ONE(__frcp_rn) ONE(__frcp_ru) ONE(__frcp_rz) ONE(__frsqrt_rn)
ONE(__fsqrt_rd) ONE(__fsqrt_rn) ONE(__fsqrt_ru) ONE(__fsqrt_rz) ONE(__log10f) ONE(__log2f) ONE(__logf) ONE(__saturatef)
ONE(__sinf) ONE(__tanf)
TWO(__fadd_rd) TWO(__fadd_rn) TWO(__fadd_ru) TWO(__fadd_rz) TWO(__fdiv_rd) TWO(__fdiv_rn) TWO(__fdiv_ru)
TWO(__fdiv_rz) TWO(__fdividef) TWO(__fmul_rd) TWO(__fmul_rn) TWO(__fmul_ru) TWO(__fmul_rz) TWO(__fsub_rd) TWO(__fsub_rn)
TWO(__fsub_ru) TWO(__fsub_rz) TWO(__powf)
THREE(__fmaf_rd) THREE(__fmaf_rn) THREE(__fmaf_ru) THREE(__fmaf_rz)
TEST(__float2int_rd) TEST(__float2int_rn) TEST(__float2int_ru) TEST(__float2int_rz) TEST(__float2ll_rn) TEST(__float2ull_rz)
TEST(__float2uint_rd) TEST(__float2uint_rn) TEST(__float2uint_ru) TEST(__float2uint_rz)

extern "C" __global__ void operators(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    float a = single_of(x[i], i), b = single_of(x[i + 1024], i / 2), c = single_of(x[i + 2048], i / 4);
    unsigned* out = y + 8 * i;
    out[0] = __float_as_uint(a + b * c);
    out[1] = __float_as_uint(a / b);
    out[2] = __float_as_uint(a * b - c * c);
    out[3] = __float_as_uint(1.0f / (a * a + 1.0f));
    out[4] = (a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 | (a > b) << 4 | !(a >= b) << 5;
    out[5] = (unsigned)(int)a;
    out[6] = __float_as_uint((float)(int)x[i] - (float)x[i + 1024]);
    out[7] = __float_as_uint((float)wide_of(x[i], x[i + 1024]));
}

extern "C" __global__ void pairs(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    float a = single_of(x[i], i), s, c, whole;
    int exponent, quotient;
    unsigned* out = y + 10 * i;
    sincosf(a, &s, &c);
    out[0] = __float_as_uint(s);
    out[1] = __float_as_uint(c);
    sincospif(a, &s, &c);
    out[2] = __float_as_uint(s);
    out[3] = __float_as_uint(c);
    out[4] = __float_as_uint(frexpf(a, &exponent));
    out[5] = exponent;
    out[6] = __float_as_uint(modff(a, &whole));
    out[7] = __float_as_uint(whole);
    out[8] = __float_as_uint(remquof(a, single_of(x[i + 1024], i / 2), &quotient));
    out[9] = __float_as_uint(ldexpf(a, (int)(x[i + 1024] % 300) - 150) + scalbnf(a, (int)(x[i + 2048] % 9)));
}

extern "C" __global__ void orders(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    float a = single_of(x[i], i);
    y[2 * i] = __float_as_uint(jnf(i % 7, a));
    y[2 * i + 1] = __float_as_uint(ynf(i % 7, a));
}
