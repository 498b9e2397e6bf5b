// $Revision: 1.0 $
// Vector addition: the smallest whole kernel.
//
// Teaches: one thread an element; the guard that the last, partly used block needs (n is seldom a multiple of the block);
// a template, which the job names as `vector_add<float>`.

/// out[i] = a[i] + b[i] for 0 <= i < n.
template <typename T>
__global__ void vector_add(T* out, const T* a, const T* b, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a[i] + b[i];
}
