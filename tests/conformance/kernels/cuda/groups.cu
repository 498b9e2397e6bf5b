// cooperative_groups. All run with: grid 4, block 256
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "values.cuh"

namespace cg = cooperative_groups;

template <int Size> __device__ void tile(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    auto tile = cg::tiled_partition<Size>(cg::this_thread_block());
    unsigned v = x[i], *out = y + 10 * i;
    out[0] = tile.thread_rank() * 1000 + tile.meta_group_rank() * 10 + tile.meta_group_size();
    out[1] = tile.shfl(v, 1), out[2] = tile.shfl_down(v, 1), out[3] = tile.shfl_up(v, 1), out[4] = tile.shfl_xor(v, 1);
    out[5] = tile.ballot(v & 1), out[6] = tile.any((v & 15) == 3) + 2 * tile.all((v & 15) != 3);
    out[7] = tile.match_any(v & 3);
    out[8] = cg::reduce(tile, v, cg::plus<unsigned>());
    out[9] = cg::reduce(tile, (int)v, cg::greater<int>());
}

extern "C" __global__ void tile_32(const unsigned* x, unsigned* y) { tile<32>(x, y); }
extern "C" __global__ void tile_16(const unsigned* x, unsigned* y) { tile<16>(x, y); }
extern "C" __global__ void tile_4(const unsigned* x, unsigned* y) { tile<4>(x, y); }

extern "C" __global__ void scans(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto eight = cg::tiled_partition<8>(warp);
    unsigned v = x[i] & 0xffff;
    y[4 * i] = cg::inclusive_scan(warp, v, cg::plus<unsigned>());
    y[4 * i + 1] = cg::exclusive_scan(warp, v);
    y[4 * i + 2] = cg::inclusive_scan(eight, v, cg::bit_xor<unsigned>());
    y[4 * i + 3] = __float_as_uint(cg::reduce(eight, unit(x[i]), cg::less<float>()));
}

extern "C" __global__ void coalesced(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    unsigned v = x[i], result = 0;
    if (v & 1) {
        auto active = cg::coalesced_threads();
        result = active.size() << 16 | active.thread_rank() << 8 | (active.shfl(v, 0) & 255);
        result ^= cg::reduce(active, v, cg::bit_and<unsigned>());
    }
    y[i] = result;
}

extern "C" __global__ void labeled(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto same = cg::labeled_partition(warp, (int)(x[i] % 3));
    auto odd = cg::binary_partition(warp, x[i] & 8);
    y[i] = same.size() << 24 | same.thread_rank() << 16 | odd.size() << 8 | odd.thread_rank();
}

extern "C" __global__ void block(const unsigned* x, unsigned* y)
{
    __shared__ unsigned words[256];
    auto block = cg::this_thread_block();
    int i = thread_of_grid();
    words[block.thread_rank()] = x[i];
    block.sync();
    auto token = block.barrier_arrive();
    unsigned other = words[(block.thread_rank() + 77) % block.size()];
    block.barrier_wait(std::move(token));
    if (block.thread_index().x == 0) words[0] = 5;
    cg::sync(block);
    y[i] = other + words[0] + block.group_index().x + block.dim_threads().x;
}

extern "C" __global__ void aggregated(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    if (x[i] % 3 == 0) {
        auto active = cg::coalesced_threads();
        if (active.thread_rank() == 0) atomicAdd(&y[i / 32], active.size());
    }
}

/// Each round needs what all blocks wrote in the one before.
extern "C" __global__ void grid(const unsigned* x, unsigned* y)
{
    auto grid = cg::this_grid();
    int n = grid.size(), i = grid.thread_rank();
    y[i] = x[i];
    grid.sync();
    for (int round = 0; round < 5; ++round) {
        unsigned* from = y + (round & 1) * n;
        unsigned* to = y + (~round & 1) * n;
        to[i] = from[(i + 301) % n] * 3 + from[n - 1 - i];
        grid.sync();
    }
}
