// $Revision: 1.1 $
// C = A B through tiles in shared memory.
//
// Teaches: each block works on one TILE x TILE tile of C; a tile of A and one of B are read from global memory once and
// used TILE times; zeros stand in past the matrices' edges, so that no size needs to be a multiple of TILE; the two
// barriers, one before a tile is used and one before it is overwritten. TILE comes from the job's `compile: defines:`.

#ifndef TILE
#define TILE 16
#endif

/// c[m][n] = a[m][k] b[k][n], all row-major. Block: TILE x TILE threads. Grid: columns along x, rows along y.
__global__ void matmul(float* c, const float* a, const float* b, int m, int n, int k)
{
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int column = blockIdx.x * TILE + threadIdx.x;

    float sum = 0.0f;
    for (int start = 0; start < k; start += TILE) {
        const int a_column = start + threadIdx.x;
        const int b_row = start + threadIdx.y;
        a_tile[threadIdx.y][threadIdx.x] = row < m && a_column < k ? a[row * k + a_column] : 0.0f;
        b_tile[threadIdx.y][threadIdx.x] = b_row < k && column < n ? b[b_row * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i)
            sum = fmaf(a_tile[threadIdx.y][i], b_tile[i][threadIdx.x], sum);
        __syncthreads();
    }
    // Not an early return above: a thread outside C still loads its share of the tiles and reaches the barriers.
    if (row < m && column < n)
        c[row * n + column] = sum;
}
