// $Revision: 1.0 $
// Stream compaction: keeps the candidates above a threshold, in whatever order the warps arrive.
//
// Teaches: one atomic a warp instead of one a thread (ballot, popcount, a shuffle to spread the slot); a struct that
// the job calls a record. The slots depend on which warp comes first, so on a GPU the order differs from run to run while
// the set does not: the job says `order: any`.

struct Candidate {
    int id;
    float score;
};

/// Appends {i, score[i]} to kept for each score[i] > threshold and counts them in *count (which must start at 0).
__global__ void compact(Candidate* kept, int* count, const float* score, float threshold, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x % warpSize;
    const bool keep = i < n && score[i] > threshold;

    const unsigned int keepers = __ballot_sync(0xffffffffu, keep);
    int slot = 0;
    if (lane == 0 && keepers != 0)
        slot = atomicAdd(count, __popc(keepers));
    slot = __shfl_sync(0xffffffffu, slot, 0);
    if (keep)
        kept[slot + __popc(keepers & ((1u << lane) - 1u))] = Candidate{i, score[i]};
}
