// Lanes of a warp that exchange values through memory without __syncwarp, and blocks that wait for later ones.
// All run with: grid 4, block 64

#define LANE (threadIdx.x % 32)
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

/// The end of a tree reduction as it was written before Volta.
// grid 4, block 256
extern "C" __global__ void reduction(const unsigned* x, unsigned* y)
{
    __shared__ volatile float sums[256];
    unsigned t = threadIdx.x;
    sums[t] = __uint2float_rn(x[THREAD] >> 12) * 0x1p-13f;
    __syncthreads();
    for (unsigned step = 128; step > 32; step /= 2) {
        if (t < step) sums[t] += sums[t + step];
        __syncthreads();
    }
    if (t < 32) {
        sums[t] += sums[t + 32];
        sums[t] += sums[t + 16];
        sums[t] += sums[t + 8];
        sums[t] += sums[t + 4];
        sums[t] += sums[t + 2];
        sums[t] += sums[t + 1];
    }
    y[THREAD] = __float_as_uint(t < 32 ? sums[t] : 0.0f);
}

/// An inclusive scan in which only some lanes add.
extern "C" __global__ void scan(const unsigned* x, unsigned* y)
{
    __shared__ volatile unsigned sums[64];
    unsigned t = threadIdx.x;
    sums[t] = x[THREAD];
    for (unsigned step = 1; step < 32; step *= 2)
        if (LANE >= step) sums[t] += sums[t - step];
    y[THREAD] = sums[t];
}

/// A scan without branches, in a padded row.
extern "C" __global__ void padded_scan(const unsigned* x, unsigned* y)
{
    __shared__ volatile unsigned sums[2][48];
    volatile unsigned* own = &sums[threadIdx.x / 32][16 + LANE];
    if (LANE < 16) own[-16] = 0;
    unsigned sum = x[THREAD];
    *own = sum;
    for (int step = 1; step < 32; step *= 2) *own = sum = sum + own[-step];
    y[THREAD] = sum;
}

/// Reads that come before the writes of the same instructions of other lanes.
extern "C" __global__ void rotation(const unsigned* x, unsigned* y)
{
    __shared__ unsigned row[64];
    unsigned t = threadIdx.x, first = t - LANE;
    row[t] = x[THREAD];
    __syncthreads();
    for (int round = 0; round < 5; ++round) row[t] = row[first + (LANE + 31) % 32] * 3 + round;
    __syncthreads();
    y[THREAD] = row[t];
}

/// Elements that move to where data says.
extern "C" __global__ void permutation(const unsigned* x, unsigned* y)
{
    __shared__ volatile unsigned row[64];
    unsigned t = threadIdx.x, first = t - LANE, from = first + x[THREAD] % 32;
    row[t] = x[256 + THREAD];
    __syncthreads();
    for (int round = 0; round < 4; ++round) row[t] = row[from] + round;
    y[THREAD] = row[t];
}

/// A loop that lanes leave after different numbers of iterations, and meet behind.
extern "C" __global__ void trip_counts(const unsigned* x, unsigned* y)
{
    __shared__ volatile unsigned row[64];
    unsigned t = threadIdx.x, first = t - LANE, count = x[THREAD] % 8;
    row[t] = t;
    for (unsigned round = 0; round < count; ++round) row[t] += row[first + (LANE + 1) % 32];
    row[t] += row[first + (LANE + 5) % 32];
    y[THREAD] = row[t];
}

/// Lanes that take two ways, exchange values in both, and meet behind.
extern "C" __global__ void two_ways(const unsigned* x, unsigned* y)
{
    __shared__ volatile unsigned row[64];
    unsigned t = threadIdx.x, first = t - LANE;
    row[t] = x[THREAD] & 0xffff;
    if (x[THREAD] >> 31)
        row[t] = row[first + (LANE ^ 3)] * 5;
    else
        row[t] += 7;
    y[THREAD] = row[t] + row[first + 31 - LANE];
}

/// A reduction through global memory.
extern "C" __global__ void global_memory(const unsigned* x, unsigned* y)
{
    volatile unsigned* row = y + 1024 + THREAD - LANE;
    row[LANE] = x[THREAD];
    for (int step = 16; step > 0; step /= 2) row[LANE] += row[LANE ^ step];
    y[THREAD] = row[LANE];
}

/// Places that the lanes of one warp are given in a loop.
// grid 1, block 32
extern "C" __global__ void places(const unsigned* x, unsigned* y)
{
    __shared__ unsigned next;
    next = 0;
    __syncthreads();
    for (int round = 0; round < 8; ++round)
        if (x[32 * round + LANE] & 1) y[32 * round + LANE] = atomicAdd(&next, 1) + 1;
}

/// Each block waits for the one behind it.
// grid 64, block 32
extern "C" __global__ void later_blocks(const unsigned* x, unsigned* y)
{
    volatile unsigned* flags = y + 4096;
    unsigned block = blockIdx.x;
    if (threadIdx.x == 0) {
        while (block + 1 < gridDim.x && flags[block + 1] == 0) {}
        __threadfence();
        y[block] = x[block] + (block + 1 < gridDim.x ? 3 * ((volatile unsigned*)y)[block + 1] : 0);
        __threadfence();
        flags[block] = 1;
    }
}

/// A lock that blocks take in the order from the last to the first, and sleep meanwhile.
// grid 48, block 64
extern "C" __global__ void turns(const unsigned* x, unsigned* y)
{
    unsigned *turn = y + 4096, mine = gridDim.x - 1 - blockIdx.x;
    if (threadIdx.x == 0)
        while (atomicAdd(turn, 0) != mine) __nanosleep(40);
    __syncthreads();
    volatile unsigned* sum = y + threadIdx.x;
    *sum = *sum * 5 + x[64 * blockIdx.x + threadIdx.x];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(turn, 1);
}

/// Lanes that store to one element: words, halves of a warp, quarters.
extern "C" __global__ void contested_stores(const unsigned* x, unsigned* y)
{
    __shared__ uint4 quads[2][8];
    __shared__ uint2 pairs[2][8];
    __shared__ unsigned char bytes[2][8];
    unsigned warp = threadIdx.x / 32, place = x[THREAD] & 7;
    unsigned* row = y + 1024 + 64 * (THREAD / 32);
    quads[warp][place] = make_uint4(LANE, x[THREAD], 3, 4);
    pairs[warp][place] = make_uint2(LANE, x[THREAD]);
    bytes[warp][place] = LANE;
    ((uint4*)row)[place] = make_uint4(LANE, x[THREAD], 5, 6);
    ((uint2*)row)[16 + place] = make_uint2(LANE, 7);
    row[48 + place] = LANE;
    if (x[THREAD] & 64) y[4096 + THREAD / 32] = LANE;
    __syncwarp();
    y[THREAD] = quads[warp][place].x + 100 * pairs[warp][place].x + 10000 * bytes[warp][place];
}

/// Sums of floats whose order of lanes shows, in shared and global memory.
extern "C" __global__ void float_sums(const unsigned* x, unsigned* y)
{
    __shared__ float sums[2];
    unsigned warp = threadIdx.x / 32;
    sums[warp] = 0;
    __syncwarp();
    float* sum = (float*)y + 1024 + THREAD / 32;
    for (int round = 0; round < 4; ++round) {
        float value = __uint_as_float(x[512 * round + THREAD] % 0x08000000 + 0x3c000000);
        y[256 * round + THREAD] = __float_as_uint(atomicAdd(&sums[warp], value));
        atomicAdd(sum, value);
    }
}

/// The sides of a branch that take turns: half of the lanes take each.
extern "C" __global__ void sides(const unsigned* x, unsigned* y)
{
    __shared__ volatile unsigned turns[2];
    unsigned warp = threadIdx.x / 32, seen;
    turns[warp] = 1;
    __syncwarp();
    if (LANE & 1)
        for (unsigned round = 0; round < (x[warp] & 3) + 2; ++round) seen = turns[warp] = turns[warp] * 5 + 1;
    else
        for (unsigned round = 0; round < (x[warp] & 3) + 2; ++round) seen = turns[warp] = turns[warp] * 7 + 2;
    y[THREAD] = seen * 3 + turns[warp];
}
