// Every function of math.h on float64, one kernel each. All run with: grid 4, block 256
#include <math.h>

#include "values.cuh"

#define VALUE(place, lane) double_of(x[i + 1024 * (place)], x[i + 1024 * (place) + 2048], lane)
#define KERNEL(kernel, expression)                                                   \
    extern "C" __global__ void kernel(const unsigned* x, unsigned* y)                \
    {                                                                                \
        int i = thread_of_grid();                                                    \
        put(y, i, expression);                                                       \
    }
#define ONE(name) KERNEL(name##_1, name(VALUE(0, i)))
#define TWO(name) KERNEL(name##_2, name(VALUE(0, i), VALUE(1, i / 2)))
#define THREE(name) KERNEL(name##_3, name(VALUE(0, i), VALUE(1, i / 2), VALUE(2, i / 4)))
#define TEST(name) KERNEL(name##_1, (unsigned long long)name(VALUE(0, i)))

ONE(acos) ONE(acosh) ONE(asin) ONE(asinh) ONE(atan) ONE(atanh) ONE(cbrt) ONE(ceil) ONE(cos) ONE(cosh) ONE(cospi)
ONE(cyl_bessel_i0) ONE(cyl_bessel_i1) ONE(erf) ONE(erfc) ONE(erfcinv) ONE(erfcx) ONE(erfinv) ONE(exp) ONE(exp10)
ONE(exp2) ONE(expm1) ONE(fabs) ONE(floor) ONE(j0) ONE(j1) ONE(lgamma) ONE(log) ONE(log10) ONE(log1p) ONE(log2)
ONE(logb) ONE(nearbyint) ONE(normcdf) ONE(normcdfinv) ONE(rcbrt) ONE(rint) ONE(round) ONE(rsqrt) ONE(sin) ONE(sinh)
ONE(sinpi) ONE(sqrt) ONE(tan) ONE(tanh) ONE(tgamma) ONE(trunc) ONE(y0) ONE(y1)
TWO(atan2) TWO(copysign) TWO(fdim) TWO(fmax) TWO(fmin) TWO(fmod) TWO(hypot) TWO(nextafter) TWO(pow) TWO(remainder)
TWO(rhypot)
THREE(fma) THREE(norm3d) THREE(rnorm3d)
TEST(ilogb) TEST(llrint) TEST(llround) TEST(isfinite) TEST(isinf) TEST(isnan) TEST(signbit)
ONE(__drcp_rd) ONE(__drcp_rn) ONE(__drcp_ru) ONE(__drcp_rz) ONE(__dsqrt_rd) ONE(__dsqrt_rn) ONE(__dsqrt_ru)
ONE(__dsqrt_rz)
TWO(__dadd_rd) TWO(__dadd_rn) TWO(__dadd_ru) TWO(__dadd_rz) TWO(__ddiv_rd) TWO(__ddiv_rn) TWO(__ddiv_ru)
TWO(__ddiv_rz) TWO(__dmul_rd) TWO(__dmul_rn) TWO(__dmul_ru) TWO(__dmul_rz)
THREE(__fma_rd) THREE(__fma_rn) THREE(__fma_ru) THREE(__fma_rz)
TEST(__double2int_rd) TEST(__double2int_rn) TEST(__double2int_ru) TEST(__double2int_rz) TEST(__double2ll_rn)
TEST(__double2ull_rz) TEST(__double2uint_rn) TEST(__double2hiint) TEST(__double2loint)

extern "C" __global__ void operators(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    double a = VALUE(0, i), b = VALUE(1, i / 2), c = VALUE(2, i / 4);
    put(y, 6 * i, a + b * c);
    put(y, 6 * i + 1, a / b);
    put(y, 6 * i + 2, 1.0 / (a * a + 1.0));
    put(y, 6 * i + 3, (double)(float)a);
    put(y, 6 * i + 4, (double)(long long)wide_of(x[i], x[i + 1024]));
    put(y, 6 * i + 5, (unsigned long long)((a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 | !(a >= b) << 5));
}

extern "C" __global__ void pairs(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    double a = VALUE(0, i), s, c, whole;
    int exponent, quotient;
    sincos(a, &s, &c);
    put(y, 8 * i, s);
    put(y, 8 * i + 1, c);
    sincospi(a, &s, &c);
    put(y, 8 * i + 2, s * 3.0 + c);
    put(y, 8 * i + 3, frexp(a, &exponent));
    put(y, 8 * i + 4, modf(a, &whole) + exponent);
    put(y, 8 * i + 5, whole);
    put(y, 8 * i + 6, remquo(a, VALUE(1, i / 2), &quotient));
    put(y, 8 * i + 7, ldexp(a, (int)(x[i + 1024] % 2000) - 1000) + scalbn(a, (int)(x[i + 2048] % 9)));
}
