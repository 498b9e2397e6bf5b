// curand_kernel. All run with: grid 2, block 64
#include <curand_kernel.h>

#include "values.cuh"

template <class State> __device__ void draw(unsigned* y)
{
    int i = thread_of_grid();
    State state;
    curand_init(1234ull, i, 3 * i, &state);
    unsigned* out = y + 16 * i;
    for (int k = 0; k < 4; ++k) out[k] = (unsigned)curand(&state);
    out[4] = __float_as_uint(curand_uniform(&state));
    out[5] = __float_as_uint(curand_normal(&state));
    float2 two = curand_normal2(&state);
    out[6] = __float_as_uint(two.x), out[7] = __float_as_uint(two.y);
    put(out, 4, curand_uniform_double(&state));
    put(out, 5, curand_normal_double(&state));
    out[12] = __float_as_uint(curand_log_normal(&state, 0.5f, 0.25f));
    out[13] = curand_poisson(&state, 7.5);
    skipahead(1000ull, &state);
    out[14] = (unsigned)curand(&state);
    out[15] = 0;
}

extern "C" __global__ void xorwow(const unsigned* x, unsigned* y) { draw<curandStateXORWOW_t>(y); }
extern "C" __global__ void philox(const unsigned* x, unsigned* y) { draw<curandStatePhilox4_32_10_t>(y); }
extern "C" __global__ void mrg32k3a(const unsigned* x, unsigned* y) { draw<curandStateMRG32k3a_t>(y); }

extern "C" __global__ void philox_fours(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    curandStatePhilox4_32_10_t state;
    curand_init(99ull, i, 0, &state);
    reinterpret_cast<uint4*>(y)[2 * i] = curand4(&state);
    reinterpret_cast<float4*>(y)[2 * i + 1] = curand_normal4(&state);
}
