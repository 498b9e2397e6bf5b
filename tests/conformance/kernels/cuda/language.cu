// What C++ brings by itself: variadic functions, types with large alignments, 128-bit integers as nvcc has them.
// All run with: grid 4, block 256
#include <cstdarg>

#include "values.cuh"

__device__ __noinline__ double total(int n, ...)
{
    va_list list, again;
    va_start(list, n);
    va_copy(again, list);
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += i % 3 == 0 ? va_arg(list, int) : i % 3 == 1 ? va_arg(list, double) : (double)va_arg(list, long long);
    if (n) sum -= va_arg(again, int) * 0.5;
    va_end(again);
    va_end(list);
    return sum;
}

__device__ __noinline__ int down(int n, ...)
{
    va_list list;
    va_start(list, n);
    int first = va_arg(list, int), second = va_arg(list, int);
    va_end(list);
    return n == 0 ? first - second : down(n - 1, second ^ n, first + n) + 1;
}

extern "C" __global__ void variadic(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    put(y, 3 * i, total(5, (int)x[i], unit(x[i + 1]) * 3.0, (long long)x[i + 2] << 20, i, 0.25));
    put(y, 3 * i + 1, total(1, i) + total(2, -i, (double)unit(x[i])) + total(0));
    y[6 * i + 4] = down(i & 15, (int)x[i], i);
}

struct alignas(256) Wide {
    unsigned words[64];
    __device__ explicit Wide(unsigned first) { for (int k = 0; k < 64; ++k) words[k] = first * (k + 1); }
};

extern "C" __global__ void wide(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    Wide own(x[i]);
    if (i % 64 == 0) {
        Wide* made = new Wide(x[i] ^ 5);
        y[3 * i] = made ? made->words[x[i] & 63] : 0;
        y[3 * i + 1] = (unsigned)((unsigned long long)made & 255);
        delete made;
    }
    y[3 * i + 2] = own.words[x[i + 7] & 63] + (unsigned)((unsigned long long)&own & 255);
}

extern "C" __global__ void longest(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    __int128 a = (__int128)wide_of(x[i], x[i + 1]) * (long long)wide_of(x[i + 2], x[i + 3]);
    __int128 b = (long long)wide_of(x[i + 4] >> i % 32, x[i + 5]);
    __int128 q = a / (b ? b : 1), r = a % (b ? b : 1);
    double d = (double)a;
    float f = (float)(unsigned __int128)r;
    put(y, 4 * i, (unsigned long long)q);
    put(y, 4 * i + 1, (unsigned long long)(r >> 32));
    put(y, 4 * i + 2, d);
    put(y, 4 * i + 3, (unsigned long long)(__int128)(d * 0.5) ^ (unsigned long long)(f * 0.25f));
}
