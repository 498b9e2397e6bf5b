// Calls of every kind, and memory from the heap. All run with: grid 4, block 128
#include <stdlib.h>
#include <string.h>

#include "values.cuh"

struct Shape
{
    __device__ virtual float area() const = 0;
    __device__ virtual int sides() const { return 0; }
    __device__ virtual ~Shape() {}
};
struct Square : Shape
{
    float a;
    __device__ Square(float side) : a(side) {}
    __device__ float area() const override { return a * a; }
    __device__ int sides() const override { return 4; }
};
struct Circle : Shape
{
    float r;
    __device__ Circle(float radius) : r(radius) {}
    __device__ float area() const override { return 3.1415927f * r * r; }
};

extern "C" __global__ void virtual_functions(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    Square square(unit(x[i]));
    Circle circle(unit(x[i + 512]));
    Shape* shape = x[i] & 1 ? (Shape*)&square : (Shape*)&circle;
    Shape* owned = x[i] & 2 ? (Shape*)new Square(2.0f) : (Shape*)new Circle(unit(x[i]));
    y[2 * i] = __float_as_uint(shape->area() + owned->area());
    y[2 * i + 1] = shape->sides() * 10 + owned->sides();
    delete owned;
}

__device__ unsigned twice(unsigned v) { return 2 * v; }
__device__ unsigned inverse(unsigned v) { return ~v; }
__device__ unsigned mixed(unsigned v) { return v * 2654435761u ^ v >> 7; }
typedef unsigned (*Function)(unsigned);
__device__ Function functions[] = {twice, inverse, mixed, twice};

extern "C" __global__ void function_pointers(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    Function own = x[i] & 4 ? mixed : inverse;
    y[i] = functions[x[i] & 3](x[i]) + own(i);
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0) return n + 1;
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__device__ unsigned hanoi(int discs, int from, int to, unsigned trace)
{
    if (discs == 0) return trace;
    trace = hanoi(discs - 1, from, 6 - from - to, trace);
    return hanoi(discs - 1, 6 - from - to, to, trace * 31 + from * 4 + to);
}

extern "C" __global__ void recursion(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    y[2 * i] = ackermann(i & 1, x[i] & 7) + ackermann(2, i & 3);
    y[2 * i + 1] = hanoi(x[i] % 6, 1, 3, i);
}

extern "C" __global__ void heap(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid(), n = 4 + (x[i] & 7);
    unsigned* words = (unsigned*)malloc(n * sizeof(unsigned));
    unsigned long long* wide = new unsigned long long[n];
    memcpy(words, x + i, n * sizeof(unsigned));
    memset(wide, 0x5a, n * sizeof(unsigned long long));
    unsigned sum = 0;
    for (int k = 0; k < n; ++k) wide[k] += words[n - 1 - k], sum = sum * 7 + (unsigned)(wide[k] >> 3);
    y[i] = sum;
    free(words);
    delete[] wide;
}

extern "C" __global__ void switches(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    unsigned v = x[i], r = 0;
    for (int k = 0; k < 6; ++k, v >>= 4)
        switch (v & 15) {
        case 0: r += v; break;
        case 1: r ^= 0x1234;
        case 2: r = r * 3 + 1; break;
        case 3: r = __brev(r); break;
        case 4: r -= v * v; break;
        case 5: r = r >> 3 | r << 29; break;
        case 6: r = __popc(r) + v; break;
        case 7: r ^= v << 5; break;
        case 9: r = ~r; break;
        case 11: return;
        case 13: r += k; continue;
        default: r += 99;
        }
    y[i] = r;
}

/// A table in local memory, indexed by what is read: no register can hold it.
extern "C" __global__ void local_arrays(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    unsigned char order[64];
    for (int k = 0; k < 64; ++k) order[k] = k;
    for (int k = 0; k < 64; ++k) {
        int other = x[(i + k) & 2047] & 63;
        unsigned char kept = order[k];
        order[k] = order[other], order[other] = kept;
    }
    unsigned sum = 0;
    for (int k = 0; k < 64; ++k) sum = sum * 3 + order[k];
    y[i] = sum;
}

struct Big
{
    int words[7];
    double scale;
    char name[5];
};
__device__ __noinline__ Big turned(Big big, int by)
{
    for (int k = 0; k < 7; ++k) big.words[k] = big.words[(k + by) % 7] + k;
    big.scale *= 1.5;
    big.name[by % 5] ^= 3;
    return big;
}
__constant__ Big preset = {{1, 2, 3, 4, 5, 6, 7}, 0.25, {'a', 'b', 'c', 'd', 0}};
__device__ Big table[3] = {{{9}, 1.0, "x"}, {{8, 7}, 2.0, "yz"}, {{}, -3.5, {1, 2, 3}}};
__device__ const char* const words_[] = {"alpha", "beta", "gamma"};

extern "C" __global__ void structures(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    Big big = x[i] & 1 ? preset : table[x[i] % 3];
    big.words[3] += x[i];
    big = turned(turned(big, i % 7), x[i] % 5);
    unsigned sum = (unsigned)(big.scale * 64);
    for (int k = 0; k < 7; ++k) sum = sum * 5 + big.words[k];
    for (const char* p = words_[x[i] % 3]; *p; ++p) sum = sum * 31 + *p;
    y[i] = sum + big.name[2] * sizeof(Big);
}

template <class F> __device__ unsigned applied(F f, unsigned v) { return f(v) + f(v + 1); }
extern "C" __global__ void lambdas(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    unsigned k = x[i] & 31;
    y[i] = applied([=](unsigned v) { return v << k | i; }, x[i]) ^ applied([&](unsigned v) { return v / (k += 1); }, ~x[i]);
}
