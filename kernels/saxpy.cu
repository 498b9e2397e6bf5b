// $Revision: 1.2 $
// y = a x + y, the "axpy" of BLAS level 1, in single and double precision.
//
// Teaches: a grid-stride loop, which makes the result independent of the launch (the job proves it with several grids);
// a namespace and a template, named in the job as `blas::axpy<double>`; an explicit fma. The compiler may fuse a * x + y or
// not, as it likes; written as fma it is one rounding on every device.
#include "indexing.cuh"

namespace blas {

__device__ inline float fused(float a, float x, float y) { return fmaf(a, x, y); }
__device__ inline double fused(double a, double x, double y) { return fma(a, x, y); }

/// y[i] = a * x[i] + y[i], rounded once, for 0 <= i < n.
template <typename T>
__global__ void axpy(int n, T a, const T* __restrict__ x, T* __restrict__ y)
{
    for (int i = indexing::global_x(); i < n; i += indexing::grid_stride())
        y[i] = fused(a, x[i], y[i]);
}

}  // namespace blas
