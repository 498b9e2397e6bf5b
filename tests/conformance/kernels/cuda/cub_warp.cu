// cub's warp primitives. All run with: grid 4, block 128
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_load.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cub/warp/warp_store.cuh>

#include "values.cuh"

struct Less
{
    template <class T> __device__ bool operator()(const T& a, const T& b) const { return a < b; }
};
struct Most
{
    template <class T> __device__ T operator()(const T& a, const T& b) const { return a > b ? a : b; }
};

template <class T, int Threads> __device__ T reduced(T value)
{
    using Reduce = cub::WarpReduce<T, Threads>;
    __shared__ typename Reduce::TempStorage storage[128 / Threads];
    T sum = Reduce(storage[threadIdx.x / Threads]).Sum(value);
    __syncwarp();
    T most = Reduce(storage[threadIdx.x / Threads]).Reduce(value, Most());
    __syncwarp();
    T some = Reduce(storage[threadIdx.x / Threads]).Sum(value, Threads - 3);
    return threadIdx.x % Threads == 0 ? sum + most * T(3) + some : T(0);
}

extern "C" __global__ void reduce(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    y[4 * i] = reduced<unsigned, 32>(x[i]);
    y[4 * i + 1] = __float_as_uint(reduced<float, 32>(unit(x[i])));
    y[4 * i + 2] = reduced<int, 16>(x[i]);
    y[4 * i + 3] = __float_as_uint((float)reduced<double, 8>(unit(x[i])));
}

extern "C" __global__ void segments(const unsigned* x, unsigned* y)
{
    using Reduce = cub::WarpReduce<unsigned>;
    __shared__ typename Reduce::TempStorage storage[4];
    int i = thread_of_grid();
    y[i] = Reduce(storage[threadIdx.x / 32]).HeadSegmentedSum(x[i] & 255, (x[i] & 3) == 0);
}

extern "C" __global__ void scan(const unsigned* x, unsigned* y)
{
    using Scan = cub::WarpScan<float>;
    using Words = cub::WarpScan<unsigned, 16>;
    __shared__ typename Scan::TempStorage storage[4];
    __shared__ typename Words::TempStorage words[8];
    int i = thread_of_grid();
    float inclusive, exclusive;
    unsigned sum, total;
    Scan(storage[threadIdx.x / 32]).InclusiveSum(unit(x[i]), inclusive);
    __syncwarp();
    Scan(storage[threadIdx.x / 32]).ExclusiveScan(unit(x[i]), exclusive, 0.25f, Most());
    Words(words[threadIdx.x / 16]).ExclusiveSum(x[i] & 0xffff, sum, total);
    y[3 * i] = __float_as_uint(inclusive);
    y[3 * i + 1] = __float_as_uint(exclusive);
    y[3 * i + 2] = sum ^ total << 7;
}

extern "C" __global__ void sort_and_move(const unsigned* x, unsigned* y)
{
    using Load = cub::WarpLoad<unsigned, 4, cub::WARP_LOAD_TRANSPOSE>;
    using Sort = cub::WarpMergeSort<unsigned, 4, 32>;
    using Store = cub::WarpStore<unsigned, 4, cub::WARP_STORE_STRIPED>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Sort::TempStorage sort;
        typename Store::TempStorage store;
    } storage[4];
    int warp = threadIdx.x / 32, base = blockIdx.x * 512 + warp * 128;
    unsigned items[4];
    Load(storage[warp].load).Load(x + base, items);
    __syncwarp();
    Sort(storage[warp].sort).Sort(items, Less());
    __syncwarp();
    Store(storage[warp].store).Store(y + base, items);
}

extern "C" __global__ void exchange(const unsigned* x, unsigned* y)
{
    using Exchange = cub::WarpExchange<unsigned, 4>;
    __shared__ typename Exchange::TempStorage storage[4];
    int i = thread_of_grid(), warp = threadIdx.x / 32;
    unsigned items[4] = {x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]};
    Exchange(storage[warp]).BlockedToStriped(items, items);
    for (int k = 0; k < 4; ++k) y[4 * i + k] = items[k];
}
