// Tensor cores: integers exactly; what floating point rounds is left open by hardware. All run with: grid 2, block 64
#include <mma.h>

#include "values.cuh"

using namespace nvcuda;

extern "C" __global__ void bytes(const unsigned* x, unsigned* y)
{
    int warp = thread_of_grid() / 32;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> c;
    wmma::load_matrix_sync(a, (const signed char*)x + 256 * warp, 16);
    wmma::load_matrix_sync(b, (const signed char*)x + 2048 + 256 * warp, 16);
    wmma::fill_fragment(c, 3);
    wmma::mma_sync(c, a, b, c);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync((int*)y + 256 * warp, c, 16, wmma::mem_row_major);
}

/// Small whole numbers: every sum is exact, whatever the order and the width of the adder.
extern "C" __global__ void halves(const unsigned* x, unsigned* y)
{
    __shared__ __align__(32) __half tiles[2][2][256];
    int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    for (int k = lane; k < 256; k += 32) {
        tiles[warp][0][k] = __float2half((float)((int)(x[256 * warp + k] % 9) - 4));
        tiles[warp][1][k] = __float2half((float)((int)(x[1024 + 256 * warp + k] % 9) - 4));
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::load_matrix_sync(a, tiles[warp][0], 16);
    wmma::load_matrix_sync(b, tiles[warp][1], 16);
    wmma::fill_fragment(c, 0.5f);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync((float*)y + 256 * (thread_of_grid() / 32), c, 16, wmma::mem_col_major);
}

extern "C" __global__ void raw_half(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    unsigned a[4], b[2];
    for (int k = 0; k < 4; ++k) a[k] = 0x3c003c00u + ((x[i + 64 * k] & 1) << 10) + ((x[i + 64 * k] & 2) << 25);
    for (int k = 0; k < 2; ++k) b[k] = 0x40003c00u ^ (x[i + 64 * k + 700] & 0x80008000u);
    float d[4];
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(1.0f));
    for (int k = 0; k < 4; ++k) y[4 * i + k] = __float_as_uint(d[k]);
}

extern "C" __global__ void raw_bytes(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid(), d[4];
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(x[i]), "r"(x[i + 64]), "r"(x[i + 128]), "r"(x[i + 192]), "r"(x[i + 256]), "r"(x[i + 320]), "r"(5));
    for (int k = 0; k < 4; ++k) y[4 * i + k] = d[k];
}
