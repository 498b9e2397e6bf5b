// $Revision: 1.2 $
// Kernels that go wrong, each in one way, on purpose. The jobs in configs/faults/ expect the fault; a harness that lets one
// pass is broken. Nothing here is to be copied, but each is a mistake that somebody has made.

/// Reads x[n] as if it were there: `<=` for `<`.
__global__ void read_past_end(float* out, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = 0.5f * (x[i] + x[i + 1]);
}

/// The guard is forgotten: the last block writes past the end.
__global__ void write_without_guard(int* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = i;
}

/// A byte offset that is not a multiple of four, read as an int.
__global__ void read_misaligned(int* out, const unsigned char* bytes, int offset)
{
    out[threadIdx.x] = *reinterpret_cast<const int*>(bytes + 4 * threadIdx.x + offset);
}

/// Waits for a flag that nobody sets, and counts its rounds. Nothing depends on the counter: a deadlock on the CPU device.
__global__ void wait_forever(int* out, volatile int* flag)
{
    int rounds = 0;
    while (*flag == 0)
        ++rounds;
    out[threadIdx.x] = rounds;
}

/// A loop whose stride is an argument, and the argument is 0. Without `volatile` the compiler counts its rounds: 2^32.
__global__ void stride_of_zero(volatile unsigned int* out, int n, int stride)
{
    unsigned int sum = 0;
    for (int i = threadIdx.x; i < n; i += stride)
        sum = sum * 1664525u + out[i];
    out[threadIdx.x] = sum;
}

/// The kernel's own check of its input fails.
__global__ void root(float* out, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    assert(x[i] >= 0.0f);
    out[i] = sqrtf(x[i]);
}

/// Gives up at once, without a word.
__global__ void give_up(int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (n > 100)
        __trap();
    if (i < n)
        out[i] = i;
}

/// Reports its error where the host can read it, and ends well.
__global__ void report_error(int* out, int* status, const int* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (x[i] == 0) {
        atomicCAS(status, 0, 1 + i);  // the first one to fail is kept
        return;
    }
    out[i] = 1000 / x[i];
}

/// Half of the block waits at one barrier, the other half at another: neither fills.
__global__ void divergent_barrier(int* out)
{
    if (threadIdx.x < blockDim.x / 2)
        asm volatile("barrier.sync 1, %0;" ::"r"(blockDim.x));
    else
        asm volatile("barrier.sync 2, %0;" ::"r"(blockDim.x));
    out[threadIdx.x] = threadIdx.x;
}
