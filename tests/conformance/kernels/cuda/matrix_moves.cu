// Rows of stmatrix that go to one address, within a matrix and between the matrices of an instruction.
// Only for: sm_90
// All run with: grid 4, block 64

#define LANE (threadIdx.x % 32)
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

/// Each row has one of `PLACES` addresses, and each part of a row shows the thread that wrote it.
template <int PLACES, bool TRANSPOSED>
static __device__ void store(const unsigned* x, unsigned* y)
{
    __shared__ uint4 rows[2][32];
    unsigned warp = threadIdx.x / 32;
    for (int count = 1; count <= 4; count *= 2) {
        rows[warp][LANE] = make_uint4(0, 0, 0, 0);
        __syncwarp();
        unsigned to = __cvta_generic_to_shared(&rows[warp][x[THREAD] % PLACES]), v = THREAD << 8 | count;
        if (count == 1 && !TRANSPOSED)
            asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(to), "r"(v) : "memory");
        else if (count == 1)
            asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(to), "r"(v) : "memory");
        else if (count == 2 && !TRANSPOSED)
            asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(to), "r"(v), "r"(v + 16)
                         : "memory");
        else if (count == 2)
            asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(to), "r"(v),
                         "r"(v + 16)
                         : "memory");
        else if (!TRANSPOSED)
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v),
                         "r"(v + 16), "r"(v + 32), "r"(v + 48)
                         : "memory");
        else
            asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v),
                         "r"(v + 16), "r"(v + 32), "r"(v + 48)
                         : "memory");
        __syncwarp();
        ((uint4*)y)[256 * count + THREAD] = rows[warp][LANE];
        __syncwarp();
    }
}

extern "C" __global__ void one_place(const unsigned* x, unsigned* y) { store<1, false>(x, y); }

extern "C" __global__ void places(const unsigned* x, unsigned* y) { store<13, false>(x, y); }

extern "C" __global__ void places_transposed(const unsigned* x, unsigned* y) { store<13, true>(x, y); }
