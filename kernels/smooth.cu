// $Revision: 1.0 $
// A three-point smoothing filter on a tile in shared memory, in any floating-point type.
//
// Teaches: a tile and a block size as macros, so that the compiler unrolls the loops; a static_assert that refuses the
// combinations that make no sense, which the job's `infeasible: skip` counts; a result that must not depend on either.

#ifndef TILE
#define TILE 4
#define BLOCK 128
#endif

constexpr int WIDTH = TILE * BLOCK;

/// y[i] = (x[i - 1] + 2 x[i] + x[i + 1]) / 4, with zeros outside. Block: BLOCK threads, TILE elements each.
template <typename real>
__global__ void smooth(real* y, const real* x, int n)
{
    static_assert(WIDTH <= 1024, "a block has more than 1024 elements: choose a smaller TILE");
    __shared__ real tile[WIDTH + 2];
    const int first = blockIdx.x * WIDTH - 1;
    for (int j = threadIdx.x; j < WIDTH + 2; j += BLOCK)
        tile[j] = first + j >= 0 && first + j < n ? x[first + j] : real(0);
    __syncthreads();
    for (int a = 0; a < TILE; ++a) {
        const int j = threadIdx.x + a * BLOCK, i = blockIdx.x * WIDTH + j;
        if (i < n)
            y[i] = ((tile[j] + tile[j + 2]) + 2 * tile[j + 1]) / 4;
    }
}
