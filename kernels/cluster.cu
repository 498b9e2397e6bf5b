// $Revision: 1.0 $
// A histogram with more bins than one block's shared memory holds, in the shared memory of a cluster; and a cluster's sum.
//
// Teaches: blocks that see each other's shared memory (sm_90): `__cluster_dims__`, `map_shared_rank`, atomics in another block's
// memory; and where the cluster must wait: before the first such access, so that all blocks have begun, and before a block
// ends whose memory another may still touch. The grid must be a multiple of the cluster.

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int blocks_of_a_cluster = 4;

/// counts[v] += how often value v stands in data. Each block of a cluster holds every fourth part of the bins, in
/// 4 * ceil(bins / 4) bytes of shared memory. Values must be below `bins`.
__global__ void __cluster_dims__(blocks_of_a_cluster, 1, 1)
histogram(unsigned int* counts, const unsigned short* data, int n, int bins)
{
    extern __shared__ unsigned int own_counts[];
    cg::cluster_group cluster = cg::this_cluster();
    const int part = (bins + blocks_of_a_cluster - 1) / blocks_of_a_cluster;
    for (int bin = threadIdx.x; bin < part; bin += blockDim.x)
        own_counts[bin] = 0;
    cluster.sync();

    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const int bin = data[i];
        atomicAdd(cluster.map_shared_rank(own_counts, bin / part) + bin % part, 1u);
    }
    cluster.sync();

    const int first = cluster.block_rank() * part;
    for (int bin = threadIdx.x; bin < part && first + bin < bins; bin += blockDim.x)
        if (own_counts[bin] != 0)
            atomicAdd(&counts[first + bin], own_counts[bin]);
}

/// sums[c] = the sum of the values that cluster c's threads read. Blocks of up to 1024 threads.
__global__ void __cluster_dims__(blocks_of_a_cluster, 1, 1)
cluster_sum(unsigned int* sums, const unsigned short* data, int n)
{
    __shared__ unsigned int total;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        total = 0;
    __syncthreads();

    unsigned int own = 0;
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        own += data[i];
    atomicAdd(&total, own);
    cluster.sync();

    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        unsigned int all = 0;
        for (unsigned int rank = 0; rank < cluster.num_blocks(); ++rank)
            all += *cluster.map_shared_rank(&total, rank);
        sums[blockIdx.x / blocks_of_a_cluster] = all;
    }
    cluster.sync();
}
