// A kernel of some five hundred PTX instructions: trigonometry with its slow path, a power, shared memory, a scan.
extern "C" __global__ void mixed(float* out, const float* in, int n)
{
    __shared__ float shared[256];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? in[i] : 0.0f;
    v = sinf(v) * cosf(v + 1.0f) + powf(fabsf(v) + 0.5f, 1.25f);
    shared[threadIdx.x] = v;
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        const float before = threadIdx.x >= step ? shared[threadIdx.x - step] : 0.0f;
        __syncthreads();
        shared[threadIdx.x] += before;
        __syncthreads();
    }
    float sum = shared[threadIdx.x];
    for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
    if (i < n) out[i] = expf(-sum) + logf(fabsf(sum) + 1.0f);
}
