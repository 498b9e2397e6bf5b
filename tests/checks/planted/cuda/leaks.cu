// Memory of the heap that is not given back.
#include "planted.cuh"

/// malloc without free.
// leak; block 32
extern "C" __global__ void leaks_malloc(const int* x, int* y)
{
    int t = threadIdx.x;
    int* own = static_cast<int*>(malloc(16)); // first
    own[x[t] % 4] = x[t];
    KEEP;
    y[t] = own[x[t] % 4];
    CLEAN(free(own);)
}

/// new without delete.
// leak; block 32
extern "C" __global__ void leaks_new(const int* x, int* y)
{
    int t = threadIdx.x;
    int* own = new int[8]; // first
    own[x[t] % 8] = x[t];
    KEEP;
    y[t] = own[x[t] % 8];
    CLEAN(delete[] own;)
}

/// One thread of all keeps its memory.
// leak; grid 2, block 32
extern "C" __global__ void leaks_one_thread(const int* x, int* y)
{
    int i = 32 * blockIdx.x + threadIdx.x;
    int* own = static_cast<int*>(malloc(16)); // first
    own[x[i] % 4] = x[i];
    KEEP;
    y[i] = own[x[i] % 4];
    if (EITHER(i != 37, true)) free(own);
}

/// A return on an error's path.
// leak; block 32
extern "C" __global__ void leaks_early_return(const int* x, int* y)
{
    int t = threadIdx.x;
    int* own = static_cast<int*>(malloc(16)); // first
    own[x[t] % 4] = x[t];
    KEEP;
    if (own[x[t] % 4] % 8 == 3) {
        CLEAN(free(own);)
        return;
    }
    y[t] = own[x[t] % 4];
    free(own);
}

/// A pointer that is overwritten by a larger piece.
// leak; block 1
extern "C" __global__ void leaks_grown(const int* x, int* y)
{
    int* list = static_cast<int*>(malloc(8)); // first
    list[0] = x[0];
    KEEP;
    int* longer = static_cast<int*>(malloc(16));
    longer[0] = list[0];
    longer[1] = x[1];
    CLEAN(free(list);)
    list = longer;
    KEEP;
    y[0] = list[0] + list[1];
    free(list);
}

/// Memory that another thread gives back; in the planted twin it misses the last pointer.
// leak; block 32
extern "C" __global__ void leaks_other_thread(const int* x, int* y)
{
    __shared__ int* places[32];
    int t = threadIdx.x;
    places[t] = static_cast<int*>(malloc(8)); // first
    places[t][0] = x[t];
    __syncthreads();
    y[t] = places[31 - t][0];
    __syncthreads();
    if (t < EITHER(31, 32)) free(places[31 - t]);
}
