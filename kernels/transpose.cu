// $Revision: 1.3 $
// Matrix transposition through a padded tile in shared memory.
//
// Teaches: reads and writes both run along rows of global memory, so both coalesce; the turn happens in shared memory. The
// extra column of the tile puts the elements of a column into different banks: without it, 32 threads reading down a
// column wait for one bank. A block is ROWS high and moves a TILE x TILE tile, TILE / ROWS elements a thread.

/// out[columns][rows] = in[rows][columns], transposed. Block: TILE x ROWS threads; TILE must be a multiple of ROWS.
template <typename T, int TILE, int ROWS>
__global__ void transpose(T* out, const T* in, int rows, int columns)
{
    static_assert(TILE % ROWS == 0, "a tile is a whole number of blocks high");
    __shared__ T tile[TILE][TILE + 1];

    const int in_column = blockIdx.x * TILE + threadIdx.x;
    for (int j = threadIdx.y; j < TILE; j += ROWS) {
        const int in_row = blockIdx.y * TILE + j;
        if (in_row < rows && in_column < columns)
            tile[j][threadIdx.x] = in[in_row * columns + in_column];
    }
    __syncthreads();

    const int out_column = blockIdx.y * TILE + threadIdx.x;
    for (int j = threadIdx.y; j < TILE; j += ROWS) {
        const int out_row = blockIdx.x * TILE + j;
        if (out_row < columns && out_column < rows)
            out[out_row * rows + out_column] = tile[threadIdx.x][j];
    }
}
