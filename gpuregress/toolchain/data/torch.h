#pragma once
#ifndef GPUREGRESS_TORCH
#define GPUREGRESS_TORCH
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <stdint.h>
#include <stddef.h>
#include <cuda/std/limits>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cmath>
#include <cuda/std/utility>
#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_ALWAYS_INLINE __forceinline__
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(a) __launch_bounds__(a)
#define C10_LAUNCH_BOUNDS_2(a, b) __launch_bounds__(a, b)
#define C10_WARP_SIZE 32
#define C10_RESTRICT __restrict__
#define C10_UNUSED
#define C10_EXPORT
#define C10_API
#define TORCH_API
#define TORCH_CUDA_CU_API
#define C10_LIKELY(e) (e)
#define C10_UNLIKELY(e) (e)
#define CUDA_KERNEL_ASSERT(c) assert(c)
#define CUDA_KERNEL_ASSERT_MSG(c, m) assert(c)
#define CUDA_KERNEL_LOOP_TYPE(i, n, type)                                     \
  int64_t gpuregress_index = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;  \
  for (type i = gpuregress_index; gpuregress_index < (n);                     \
       i = gpuregress_index += (int64_t)blockDim.x * gridDim.x)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
namespace std {
using cuda::std::numeric_limits;
using cuda::std::is_same;
using cuda::std::enable_if;
using cuda::std::conditional;
using cuda::std::enable_if_t;
using cuda::std::conditional_t;
}
namespace c10 {
struct alignas(2) Half {
  unsigned short x;
  Half() = default;
  struct from_bits_t {};
  __host__ __device__ static constexpr from_bits_t from_bits() { return from_bits_t(); }
  __host__ __device__ constexpr Half(unsigned short bits, from_bits_t) : x(bits) {}
  __host__ __device__ Half(float value) : x(__half_as_ushort(__float2half(value))) {}
  __host__ __device__ Half(const __half& value) : x(__half_as_ushort(value)) {}
  __host__ __device__ operator float() const { return __half2float(__ushort_as_half(x)); }
  __host__ __device__ operator __half() const { return __ushort_as_half(x); }
};
struct alignas(2) BFloat16 {
  unsigned short x;
  BFloat16() = default;
  struct from_bits_t {};
  __host__ __device__ static constexpr from_bits_t from_bits() { return from_bits_t(); }
  __host__ __device__ constexpr BFloat16(unsigned short bits, from_bits_t) : x(bits) {}
  __host__ __device__ BFloat16(float value) : x(__bfloat16_as_ushort(__float2bfloat16(value))) {}
  __host__ __device__ BFloat16(const __nv_bfloat16& value) : x(__bfloat16_as_ushort(value)) {}
  __host__ __device__ operator float() const { return __bfloat162float(__ushort_as_bfloat16(x)); }
  __host__ __device__ operator __nv_bfloat16() const { return __ushort_as_bfloat16(x); }
};
#define GPUREGRESS_TORCH_OPERATORS(T)                                                                     \
  __host__ __device__ inline T operator+(const T& a, const T& b) { return T(float(a) + float(b)); }       \
  __host__ __device__ inline T operator-(const T& a, const T& b) { return T(float(a) - float(b)); }       \
  __host__ __device__ inline T operator*(const T& a, const T& b) { return T(float(a) * float(b)); }       \
  __host__ __device__ inline T operator/(const T& a, const T& b) { return T(float(a) / float(b)); }       \
  __host__ __device__ inline T operator-(const T& a) { return T(-float(a)); }                             \
  __host__ __device__ inline T& operator+=(T& a, const T& b) { return a = a + b; }                        \
  __host__ __device__ inline T& operator-=(T& a, const T& b) { return a = a - b; }                        \
  __host__ __device__ inline T& operator*=(T& a, const T& b) { return a = a * b; }                        \
  __host__ __device__ inline T& operator/=(T& a, const T& b) { return a = a / b; }                        \
  __host__ __device__ inline float operator+(const T& a, float b) { return float(a) + b; }                \
  __host__ __device__ inline float operator-(const T& a, float b) { return float(a) - b; }                \
  __host__ __device__ inline float operator*(const T& a, float b) { return float(a) * b; }                \
  __host__ __device__ inline float operator/(const T& a, float b) { return float(a) / b; }                \
  __host__ __device__ inline float operator+(float a, const T& b) { return a + float(b); }                \
  __host__ __device__ inline float operator-(float a, const T& b) { return a - float(b); }                \
  __host__ __device__ inline float operator*(float a, const T& b) { return a * float(b); }                \
  __host__ __device__ inline float operator/(float a, const T& b) { return a / float(b); }                \
  __host__ __device__ inline double operator+(const T& a, double b) { return double(float(a)) + b; }      \
  __host__ __device__ inline double operator-(const T& a, double b) { return double(float(a)) - b; }      \
  __host__ __device__ inline double operator*(const T& a, double b) { return double(float(a)) * b; }      \
  __host__ __device__ inline double operator/(const T& a, double b) { return double(float(a)) / b; }      \
  __host__ __device__ inline double operator+(double a, const T& b) { return a + double(float(b)); }      \
  __host__ __device__ inline double operator-(double a, const T& b) { return a - double(float(b)); }      \
  __host__ __device__ inline double operator*(double a, const T& b) { return a * double(float(b)); }      \
  __host__ __device__ inline double operator/(double a, const T& b) { return a / double(float(b)); }      \
  __host__ __device__ inline float& operator+=(float& a, const T& b) { return a += float(b); }            \
  __host__ __device__ inline float& operator-=(float& a, const T& b) { return a -= float(b); }            \
  __host__ __device__ inline float& operator*=(float& a, const T& b) { return a *= float(b); }            \
  __host__ __device__ inline float& operator/=(float& a, const T& b) { return a /= float(b); }            \
  __host__ __device__ inline T operator+(const T& a, int b) { return a + static_cast<T>(b); }             \
  __host__ __device__ inline T operator-(const T& a, int b) { return a - static_cast<T>(b); }             \
  __host__ __device__ inline T operator*(const T& a, int b) { return a * static_cast<T>(b); }             \
  __host__ __device__ inline T operator/(const T& a, int b) { return a / static_cast<T>(b); }             \
  __host__ __device__ inline T operator+(int a, const T& b) { return static_cast<T>(a) + b; }             \
  __host__ __device__ inline T operator-(int a, const T& b) { return static_cast<T>(a) - b; }             \
  __host__ __device__ inline T operator*(int a, const T& b) { return static_cast<T>(a) * b; }             \
  __host__ __device__ inline T operator/(int a, const T& b) { return static_cast<T>(a) / b; }
GPUREGRESS_TORCH_OPERATORS(Half)
GPUREGRESS_TORCH_OPERATORS(BFloat16)
#undef GPUREGRESS_TORCH_OPERATORS
template <typename T> struct alignas(2 * sizeof(T)) complex {
  typedef T value_type;
  T real_ = T(0);
  T imag_ = T(0);
  constexpr complex() = default;
  __host__ __device__ constexpr complex(const T& real, const T& imag = T()) : real_(real), imag_(imag) {}
  template <typename U, cuda::std::enable_if_t<(sizeof(U) < sizeof(T)), int> = 0>
  __host__ __device__ constexpr complex(const complex<U>& other) : real_(other.real_), imag_(other.imag_) {}
  template <typename U, cuda::std::enable_if_t<(sizeof(U) > sizeof(T)), int> = 0>
  __host__ __device__ explicit constexpr complex(const complex<U>& other) : real_(other.real_), imag_(other.imag_) {}
  __host__ __device__ constexpr T real() const { return real_; }
  __host__ __device__ constexpr T imag() const { return imag_; }
  __host__ __device__ constexpr void real(T value) { real_ = value; }
  __host__ __device__ constexpr void imag(T value) { imag_ = value; }
  __host__ __device__ explicit constexpr operator bool() const { return real_ || imag_; }
  __host__ __device__ constexpr complex& operator=(T value) { return *this = complex(value); }
  __host__ __device__ constexpr complex& operator+=(T value) { real_ += value; return *this; }
  __host__ __device__ constexpr complex& operator-=(T value) { real_ -= value; return *this; }
  __host__ __device__ constexpr complex& operator*=(T value) { real_ *= value; imag_ *= value; return *this; }
  __host__ __device__ constexpr complex& operator/=(T value) { real_ /= value; imag_ /= value; return *this; }
  template <typename U> __host__ __device__ constexpr complex& operator=(const complex<U>& other) {
    real_ = other.real_;
    imag_ = other.imag_;
    return *this;
  }
  template <typename U> __host__ __device__ constexpr complex& operator+=(const complex<U>& other) {
    real_ += other.real_;
    imag_ += other.imag_;
    return *this;
  }
  template <typename U> __host__ __device__ constexpr complex& operator-=(const complex<U>& other) {
    real_ -= other.real_;
    imag_ -= other.imag_;
    return *this;
  }
  template <typename U> __host__ __device__ constexpr complex& operator*=(const complex<U>& other) {
    const T real = real_ * other.real_ - imag_ * other.imag_;
    imag_ = real_ * other.imag_ + imag_ * other.real_;
    real_ = real;
    return *this;
  }
  /* Smith's division, as numpy and Torch 2.1 and later have it: Algorithm 116, CACM 5 (8), 1962. */
  template <typename U> __host__ __device__ constexpr complex& operator/=(const complex<U>& other) {
    const T a = real_, b = imag_;
    const U c = other.real_, d = other.imag_;
    const U size_c = c < U(0) ? -c : c, size_d = d < U(0) ? -d : d;
    if (size_c >= size_d) {
      if (size_c == U(0) && size_d == U(0)) return *this = complex(a / size_c, b / size_d);
      const U ratio = d / c, scale = U(1) / (c + d * ratio);
      return *this = complex((a + b * ratio) * scale, (b - a * ratio) * scale);
    }
    const U ratio = c / d, scale = U(1) / (d + c * ratio);
    return *this = complex((a * ratio + b) * scale, (b * ratio - a) * scale);
  }
};
#define GPUREGRESS_COMPLEX_OPERATOR(op)                                                                        \
  template <typename T> __host__ __device__ constexpr complex<T> operator op(complex<T> a, const complex<T>& b) { \
    return a op##= b;                                                                                         \
  }                                                                                                            \
  template <typename T, typename R, cuda::std::enable_if_t<cuda::std::is_arithmetic<R>::value, int> = 0>       \
  __host__ __device__ constexpr complex<T> operator op(complex<T> a, R b) {                                    \
    return a op##= static_cast<T>(b);                                                                         \
  }
GPUREGRESS_COMPLEX_OPERATOR(+)
GPUREGRESS_COMPLEX_OPERATOR(-)
GPUREGRESS_COMPLEX_OPERATOR(*)
GPUREGRESS_COMPLEX_OPERATOR(/)
#undef GPUREGRESS_COMPLEX_OPERATOR
#define GPUREGRESS_COMPLEX template <typename T> __host__ __device__ constexpr
#define GPUREGRESS_COMPLEX_AND_REAL                                                                        \
  template <typename T, typename R, cuda::std::enable_if_t<cuda::std::is_arithmetic<R>::value, int> = 0> \
  __host__ __device__ constexpr
GPUREGRESS_COMPLEX complex<T> operator+(const complex<T>& a) { return a; }
GPUREGRESS_COMPLEX complex<T> operator-(const complex<T>& a) { return complex<T>(-a.real_, -a.imag_); }
GPUREGRESS_COMPLEX_AND_REAL complex<T> operator+(R a, const complex<T>& b) {
  return complex<T>(static_cast<T>(a) + b.real_, b.imag_);
}
GPUREGRESS_COMPLEX_AND_REAL complex<T> operator-(R a, const complex<T>& b) { return -b + a; }
GPUREGRESS_COMPLEX_AND_REAL complex<T> operator*(R a, const complex<T>& b) { return b * a; }
GPUREGRESS_COMPLEX_AND_REAL complex<T> operator/(R a, const complex<T>& b) {
  return complex<T>(static_cast<T>(a)) / b;
}
GPUREGRESS_COMPLEX bool operator==(const complex<T>& a, const complex<T>& b) {
  return a.real_ == b.real_ && a.imag_ == b.imag_;
}
GPUREGRESS_COMPLEX bool operator!=(const complex<T>& a, const complex<T>& b) { return !(a == b); }
/* Storage alone: no kernel's arithmetic on 8 bits goes through Torch's types. */
struct alignas(1) Float8_e4m3fn { uint8_t x; };
struct alignas(1) Float8_e4m3fnuz { uint8_t x; };
struct alignas(1) Float8_e5m2 { uint8_t x; };
struct alignas(1) Float8_e5m2fnuz { uint8_t x; };
enum class ScalarType : int8_t { Byte, Char, Short, Int, Long, Half, Float, Double };
template <typename T> class ArrayRef;
template <typename T> class optional;
class Stream;
}
namespace std {
GPUREGRESS_COMPLEX T real(const c10::complex<T>& z) { return z.real_; }
GPUREGRESS_COMPLEX T imag(const c10::complex<T>& z) { return z.imag_; }
GPUREGRESS_COMPLEX T norm(const c10::complex<T>& z) { return z.real_ * z.real_ + z.imag_ * z.imag_; }
GPUREGRESS_COMPLEX c10::complex<T> conj(const c10::complex<T>& z) { return c10::complex<T>(z.real_, -z.imag_); }
template <typename T> __host__ __device__ T abs(const c10::complex<T>& z) { return ::hypot(z.real_, z.imag_); }
template <typename T> __host__ __device__ T arg(const c10::complex<T>& z) { return ::atan2(z.imag_, z.real_); }
}
#undef GPUREGRESS_COMPLEX
#undef GPUREGRESS_COMPLEX_AND_REAL
namespace at {
using namespace c10;
using c10::BFloat16;
using c10::Half;
class Tensor;
class TensorBase;
struct PhiloxCudaState {
  union Payload {
    uint64_t val;
    int64_t* ptr;
  };
  Payload seed_;
  Payload offset_;
  uint32_t offset_intragraph_;
  bool captured_;
};
namespace cuda {
namespace philox {
__host__ __device__ inline ::cuda::std::tuple<uint64_t, uint64_t> unpack(PhiloxCudaState state) {
  if (!state.captured_) return {state.seed_.val, state.offset_.val};
  return {static_cast<uint64_t>(*state.seed_.ptr),
          static_cast<uint64_t>(*state.offset_.ptr) + state.offset_intragraph_};
}
}
namespace detail {
constexpr int MAX_TENSORINFO_DIMS = 25;
template <typename T, typename I> struct TensorInfo {
  T* data;
  I sizes[MAX_TENSORINFO_DIMS];
  I strides[MAX_TENSORINFO_DIMS];
  int dims;
  __host__ __device__ bool isContiguous() const { return dims == 1 && strides[0] == 1; }
};
template <typename T, typename I, int Dims> struct IndexToOffset {
  static __host__ __device__ I get(I index, const TensorInfo<T, I>& info) {
    I offset = 0;
    for (int i = (Dims < 0 ? info.dims : Dims) - 1; i > 0; --i) {
      offset += index % info.sizes[i] * info.strides[i];
      index /= info.sizes[i];
    }
    return offset + index * info.strides[0];
  }
};
}
}
template <typename T, bool is_cuda> struct AccumulateType { typedef T type; };
template <> struct AccumulateType<float, false> { typedef double type; };
template <> struct AccumulateType<Half, true> { typedef float type; };
template <> struct AccumulateType<Half, false> { typedef float type; };
template <> struct AccumulateType<BFloat16, true> { typedef float type; };
template <> struct AccumulateType<BFloat16, false> { typedef float type; };
template <> struct AccumulateType<bool, true> { typedef bool type; };
template <> struct AccumulateType<char, true> { typedef int64_t type; };
template <> struct AccumulateType<int8_t, true> { typedef int64_t type; };
template <> struct AccumulateType<uint8_t, true> { typedef int64_t type; };
template <> struct AccumulateType<int16_t, true> { typedef int64_t type; };
template <> struct AccumulateType<int32_t, true> { typedef int64_t type; };
template <typename T, bool is_cuda> using acc_type = typename AccumulateType<T, is_cuda>::type;
template <typename T> struct OpMathType { typedef T type; };
template <> struct OpMathType<Half> { typedef float type; };
template <> struct OpMathType<BFloat16> { typedef float type; };
template <typename T> using opmath_type = typename OpMathType<T>::type;
template <typename T> struct DefaultPtrTraits { typedef T* PtrType; };
template <typename T> struct RestrictPtrTraits { typedef T* __restrict__ PtrType; };
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits, typename I = int64_t>
class TensorAccessorBase {
 public:
  typedef typename Traits<T>::PtrType PtrType;
  __host__ __device__ TensorAccessorBase(PtrType data, const I* sizes, const I* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  __host__ __device__ I size(I i) const { return sizes_[i]; }
  __host__ __device__ I stride(I i) const { return strides_[i]; }
  __host__ __device__ PtrType data() const { return data_; }

 protected:
  PtrType data_;
  const I* sizes_;
  const I* strides_;
};
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits, typename I = int64_t>
class TensorAccessor : public TensorAccessorBase<T, N, Traits, I> {
 public:
  using TensorAccessorBase<T, N, Traits, I>::TensorAccessorBase;
  __host__ __device__ TensorAccessor<T, N - 1, Traits, I> operator[](I i) const {
    return TensorAccessor<T, N - 1, Traits, I>(this->data_ + this->strides_[0] * i, this->sizes_ + 1,
                                               this->strides_ + 1);
  }
};
template <typename T, template <typename> class Traits, typename I>
class TensorAccessor<T, 1, Traits, I> : public TensorAccessorBase<T, 1, Traits, I> {
 public:
  using TensorAccessorBase<T, 1, Traits, I>::TensorAccessorBase;
  __host__ __device__ T& operator[](I i) const { return this->data_[this->strides_[0] * i]; }
};
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits, typename I = int64_t>
class GenericPackedTensorAccessorBase {
 public:
  typedef typename Traits<T>::PtrType PtrType;
  __host__ __device__ I size(I i) const { return sizes_[i]; }
  __host__ __device__ I stride(I i) const { return strides_[i]; }
  __host__ __device__ PtrType data() const { return data_; }

 protected:
  PtrType data_;
  I sizes_[N];
  I strides_[N];
};
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits, typename I = int64_t>
class GenericPackedTensorAccessor : public GenericPackedTensorAccessorBase<T, N, Traits, I> {
 public:
  __host__ __device__ TensorAccessor<T, N - 1, Traits, I> operator[](I i) const {
    return TensorAccessor<T, N - 1, Traits, I>(this->data_ + this->strides_[0] * i, this->sizes_ + 1,
                                               this->strides_ + 1);
  }
};
template <typename T, template <typename> class Traits, typename I>
class GenericPackedTensorAccessor<T, 1, Traits, I> : public GenericPackedTensorAccessorBase<T, 1, Traits, I> {
 public:
  __host__ __device__ T& operator[](I i) const { return this->data_[this->strides_[0] * i]; }
};
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, int32_t>;
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, int64_t>;
template <typename T, size_t N, template <typename> class Traits = DefaultPtrTraits, typename I = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, Traits, I>;
}
namespace torch {
using namespace at;
using at::Tensor;
namespace indexing {}
}
#endif
