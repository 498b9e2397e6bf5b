// Values for the kernels of this folder, out of random words.
#pragma once

/// In [0, 1), 24 bits.
__device__ inline float unit(unsigned word) { return (word >> 8) * 5.9604645e-8f; }

/// Every other lane an arbitrary bit pattern (NaN, infinities, subnormal numbers among them), the others within ±16.
__device__ inline float single_of(unsigned word, int lane)
{
    return lane & 1 ? __uint_as_float(word) : unit(word) * 32.0f - 16.0f;
}

__device__ inline double double_of(unsigned high, unsigned low, int lane)
{
    return lane & 1 ? __hiloint2double(high, low) : (high * 4294967296.0 + low) * 1.734723475976807e-18 - 16.0;
}

__device__ inline unsigned long long wide_of(unsigned high, unsigned low)
{
    return (unsigned long long)high << 32 | low;
}

__device__ inline int thread_of_grid() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline int threads_of_grid() { return gridDim.x * blockDim.x; }

/// Spreads a 64-bit result over two words.
__device__ inline void put(unsigned* y, int at, unsigned long long value)
{
    y[2 * at] = (unsigned)value;
    y[2 * at + 1] = (unsigned)(value >> 32);
}

__device__ inline void put(unsigned* y, int at, double value) { put(y, at, (unsigned long long)__double_as_longlong(value)); }
