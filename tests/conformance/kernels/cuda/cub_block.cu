// cub's block primitives. All run with: grid 4, block 128
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_rank.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>

#include "values.cuh"

struct Less
{
    template <class T> __device__ bool operator()(const T& a, const T& b) const { return a < b; }
};
struct Most
{
    template <class T> __device__ T operator()(const T& a, const T& b) const { return a > b ? a : b; }
};
struct Differ
{
    __device__ bool operator()(unsigned a, unsigned b) const { return a != b; }
};

template <cub::BlockReduceAlgorithm Algorithm> __device__ void reduce(const unsigned* x, unsigned* y)
{
    using Reduce = cub::BlockReduce<float, 128, Algorithm>;
    __shared__ typename Reduce::TempStorage storage;
    int i = thread_of_grid();
    float sum = Reduce(storage).Sum(unit(x[i]));
    __syncthreads();
    float most = Reduce(storage).Reduce(unit(x[i]), Most());
    __syncthreads();
    float some = Reduce(storage).Sum(unit(x[i]), 77);
    if (threadIdx.x == 0) {
        y[3 * blockIdx.x] = __float_as_uint(sum);
        y[3 * blockIdx.x + 1] = __float_as_uint(most);
        y[3 * blockIdx.x + 2] = __float_as_uint(some);
    }
}
extern "C" __global__ void reduce_raking(const unsigned* x, unsigned* y) { reduce<cub::BLOCK_REDUCE_RAKING>(x, y); }
extern "C" __global__ void reduce_warps(const unsigned* x, unsigned* y) { reduce<cub::BLOCK_REDUCE_WARP_REDUCTIONS>(x, y); }
extern "C" __global__ void reduce_commutative(const unsigned* x, unsigned* y)
{
    reduce<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(x, y);
}

template <cub::BlockScanAlgorithm Algorithm> __device__ void scan(const unsigned* x, unsigned* y)
{
    using Scan = cub::BlockScan<unsigned, 128, Algorithm>;
    __shared__ typename Scan::TempStorage storage;
    int t = threadIdx.x, base = blockIdx.x * 512;
    unsigned items[4], total;
    for (int k = 0; k < 4; ++k) items[k] = x[base + 4 * t + k] & 0xfff;
    Scan(storage).InclusiveSum(items, items, total);
    for (int k = 0; k < 4; ++k) y[base + 4 * t + k] = items[k] ^ total;
    __syncthreads();
    unsigned one;
    Scan(storage).ExclusiveScan(x[base + t], one, 7u, Most());
    y[2048 + blockIdx.x * 128 + t] = one;
}
extern "C" __global__ void scan_raking(const unsigned* x, unsigned* y) { scan<cub::BLOCK_SCAN_RAKING>(x, y); }
extern "C" __global__ void scan_warps(const unsigned* x, unsigned* y) { scan<cub::BLOCK_SCAN_WARP_SCANS>(x, y); }

template <class T> __device__ void radix_sort(const T* x, unsigned* y)
{
    using Sort = cub::BlockRadixSort<T, 128, 4, int>;
    __shared__ typename Sort::TempStorage storage;
    int t = threadIdx.x, base = blockIdx.x * 512;
    T keys[4];
    int values[4];
    for (int k = 0; k < 4; ++k) keys[k] = x[base + 4 * t + k], values[k] = 4 * t + k;
    if (blockIdx.x & 1)
        Sort(storage).SortDescending(keys, values);
    else
        Sort(storage).Sort(keys, values);
    for (int k = 0; k < 4; ++k) {
        reinterpret_cast<T*>(y)[base + 4 * t + k] = keys[k];
        y[4096 + base + 4 * t + k] = values[k];
    }
}
extern "C" __global__ void sort_words(const unsigned* x, unsigned* y) { radix_sort(x, y); }
extern "C" __global__ void sort_floats(const unsigned* x, unsigned* y) { radix_sort(reinterpret_cast<const float*>(x), y); }
extern "C" __global__ void sort_shorts(const unsigned* x, unsigned* y) { radix_sort(reinterpret_cast<const short*>(x), y); }
extern "C" __global__ void sort_long_words(const unsigned* x, unsigned* y)
{
    radix_sort(reinterpret_cast<const long long*>(x), y);
}

extern "C" __global__ void merge_sort(const unsigned* x, unsigned* y)
{
    using Sort = cub::BlockMergeSort<unsigned, 128, 4>;
    __shared__ typename Sort::TempStorage storage;
    int t = threadIdx.x, base = blockIdx.x * 512;
    unsigned keys[4];
    for (int k = 0; k < 4; ++k) keys[k] = x[base + 4 * t + k];
    Sort(storage).Sort(keys, Less());
    for (int k = 0; k < 4; ++k) y[base + 4 * t + k] = keys[k];
}

template <cub::BlockLoadAlgorithm Load, cub::BlockStoreAlgorithm Store>
__device__ void move(const unsigned* x, unsigned* y)
{
    using Loader = cub::BlockLoad<unsigned, 128, 4, Load>;
    using Storer = cub::BlockStore<unsigned, 128, 4, Store>;
    __shared__ union {
        typename Loader::TempStorage load;
        typename Storer::TempStorage store;
    } storage;
    unsigned items[4];
    int base = blockIdx.x * 512;
    Loader(storage.load).Load(x + base, items, 512 - 11 * blockIdx.x, 99u);
    __syncthreads();
    for (int k = 0; k < 4; ++k) items[k] = items[k] * 3 + threadIdx.x;
    Storer(storage.store).Store(y + base, items, 512 - 5 * blockIdx.x);
}
extern "C" __global__ void move_direct(const unsigned* x, unsigned* y) { move<cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>(x, y); }
extern "C" __global__ void move_striped(const unsigned* x, unsigned* y)
{
    move<cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED>(x, y);
}
extern "C" __global__ void move_vectorized(const unsigned* x, unsigned* y)
{
    move<cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE>(x, y);
}
extern "C" __global__ void move_transposed(const unsigned* x, unsigned* y)
{
    move<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>(x, y);
}
extern "C" __global__ void move_by_warps(const unsigned* x, unsigned* y)
{
    move<cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>(x, y);
}

extern "C" __global__ void exchange(const unsigned* x, unsigned* y)
{
    using Exchange = cub::BlockExchange<unsigned, 128, 4>;
    __shared__ typename Exchange::TempStorage storage;
    int t = threadIdx.x, base = blockIdx.x * 512, ranks[4];
    unsigned items[4];
    for (int k = 0; k < 4; ++k) items[k] = x[base + 4 * t + k], ranks[k] = (4 * t + k) * 77 % 512;
    Exchange(storage).BlockedToStriped(items, items);
    __syncthreads();
    Exchange(storage).ScatterToBlocked(items, items, ranks);
    __syncthreads();
    Exchange(storage).WarpStripedToBlocked(items, items);
    for (int k = 0; k < 4; ++k) y[base + 4 * t + k] = items[k];
}

template <cub::BlockHistogramAlgorithm Algorithm> __device__ void histogram(const unsigned* x, unsigned* y)
{
    using Histogram = cub::BlockHistogram<unsigned char, 128, 4, 64, Algorithm>;
    __shared__ typename Histogram::TempStorage storage;
    __shared__ unsigned bins[64];
    unsigned char items[4];
    for (int k = 0; k < 4; ++k) items[k] = x[blockIdx.x * 512 + 4 * threadIdx.x + k] & 63;
    Histogram(storage).Histogram(items, bins);
    __syncthreads();
    if (threadIdx.x < 64) y[blockIdx.x * 64 + threadIdx.x] = bins[threadIdx.x];
}
extern "C" __global__ void histogram_sort(const unsigned* x, unsigned* y) { histogram<cub::BLOCK_HISTO_SORT>(x, y); }
extern "C" __global__ void histogram_atomic(const unsigned* x, unsigned* y) { histogram<cub::BLOCK_HISTO_ATOMIC>(x, y); }

extern "C" __global__ void heads_and_neighbours(const unsigned* x, unsigned* y)
{
    using Discontinuity = cub::BlockDiscontinuity<unsigned, 128>;
    using Shuffle = cub::BlockShuffle<unsigned, 128>;
    __shared__ typename Discontinuity::TempStorage storage;
    __shared__ typename Shuffle::TempStorage shuffle;
    int i = thread_of_grid(), heads[2];
    unsigned items[2] = {x[2 * i] & 3, x[2 * i + 1] & 3}, neighbour = 0, rotated;
    Discontinuity(storage).FlagHeads(heads, items, Differ());
    Shuffle(shuffle).Offset(items[0], neighbour, 1);
    __syncthreads();
    Shuffle(shuffle).Rotate(items[1], rotated, 5);
    y[i] = heads[0] | heads[1] << 1 | neighbour << 2 | rotated << 4;
}
