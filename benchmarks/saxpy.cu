// The textbook form: one thread an element. (kernels/saxpy.cu has a grid-stride loop, which the serial loop beside it has not.)
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
