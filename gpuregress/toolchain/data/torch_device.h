#ifndef GPUREGRESS_TORCH_DEVICE
#define GPUREGRESS_TORCH_DEVICE
static __device__ __forceinline__ c10::Half atomicAdd(c10::Half* address, c10::Half value) {
  return atomicAdd(reinterpret_cast<__half*>(address), static_cast<__half>(value));
}
static __device__ __forceinline__ c10::BFloat16 atomicAdd(c10::BFloat16* address, c10::BFloat16 value) {
  return atomicAdd(reinterpret_cast<__nv_bfloat16*>(address), static_cast<__nv_bfloat16>(value));
}
template <typename T> static __device__ __forceinline__ T gpuAtomicAdd(T* address, T value) {
  return atomicAdd(address, value);
}
template <typename T> static __device__ __forceinline__ void gpuAtomicAddNoReturn(T* address, T value) {
  atomicAdd(address, value);
}
template <typename T>
static __device__ __forceinline__ T WARP_SHFL(T value, int lane, int width = 32, unsigned mask = 0xffffffff) {
  return __shfl_sync(mask, value, lane, width);
}
template <typename T>
static __device__ __forceinline__ T WARP_SHFL_XOR(T value, int lanes, int width = 32, unsigned mask = 0xffffffff) {
  return __shfl_xor_sync(mask, value, lanes, width);
}
template <typename T>
static __device__ __forceinline__ T WARP_SHFL_UP(T value, unsigned by, int width = 32, unsigned mask = 0xffffffff) {
  return __shfl_up_sync(mask, value, by, width);
}
template <typename T>
static __device__ __forceinline__ T WARP_SHFL_DOWN(T value, unsigned by, int width = 32, unsigned mask = 0xffffffff) {
  return __shfl_down_sync(mask, value, by, width);
}
static __device__ __forceinline__ unsigned WARP_BALLOT(int predicate, unsigned mask = 0xffffffff) {
  return __ballot_sync(mask, predicate);
}
#endif
