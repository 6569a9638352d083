// rex_nvidia.h: the device side of lowered programs. A device file includes it once, after its own includes
// and macros and before its device functions.
//
// Three compilers take it:
//   nvcc                                                    a cubin for NVIDIA GPUs
//   clang -x cuda --cuda-device-only -nocudainc -nocudalib  the same without any CUDA header
//   g++ or clang++ with -DREX_DEVICE_HOST                   a shared object for LLVM's host device
// The first knows CUDA's words; for the others they are supplied here, as far as kernels of rex use them.
//
// Because the second part stands below the user's macros, no name there is short or all upper case without
// REX_, and no header is included that those macros could break.

// ---- Before all else: GCC's builtins for GPUs -------------------------------------------------------------
//
// nvcc takes these for functions of the host, and calls of such in functions of both sides, which those of the
// standard library are with --expt-relaxed-constexpr, do nothing on the device, without a word where the library
// is a system's. Then they must be defined before cuda_runtime.h is read:
//   nvcc --expt-relaxed-constexpr -Xcompiler -include -Xcompiler rex_nvidia.h ... rex_nvidia.cu
// There this file has no more than these definitions. clang needs those for bytes and texts.

#if (defined(__CUDACC__) || defined(__CUDA__)) && !defined(REX_NVIDIA_BUILTINS)
#define REX_NVIDIA_BUILTINS

#if defined(__CUDACC_RELAXED_CONSTEXPR__) && defined(__CUDA_RUNTIME_H__)
#error "with --expt-relaxed-constexpr, give -Xcompiler -include -Xcompiler rex_nvidia.h, too"
#endif

#define REX_GCC static inline __attribute__((host, device))
#define REX_GCC_NUMBER static inline constexpr __attribute__((host, device))
#if __cplusplus >= 201402L
#define REX_GCC_TEXT REX_GCC_NUMBER
#else
#define REX_GCC_TEXT REX_GCC
#endif

REX_GCC int rex_gcc_memcmp(const void *a, const void *b, __SIZE_TYPE__ bytes) {
  const unsigned char *left = static_cast<const unsigned char *>(a), *right = static_cast<const unsigned char *>(b);
  for (__SIZE_TYPE__ i = 0; i < bytes; ++i)
    if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
  return 0;
}
REX_GCC void *rex_gcc_memchr(const void *object, int c, __SIZE_TYPE__ bytes) {
  unsigned char *at = static_cast<unsigned char *>(const_cast<void *>(object));
  for (; bytes > 0; --bytes, ++at)
    if (*at == static_cast<unsigned char>(c)) return at;
  return nullptr;
}
REX_GCC_TEXT __SIZE_TYPE__ rex_gcc_strlen(const char *text) {
  __SIZE_TYPE__ length = 0;
  while (text[length]) ++length;
  return length;
}
REX_GCC_TEXT int rex_gcc_strcmp(const char *a, const char *b) {
  while (*a && *a == *b) ++a, ++b;
  return static_cast<unsigned char>(*a) - static_cast<unsigned char>(*b);
}
#define __builtin_memcmp rex_gcc_memcmp
#define __builtin_bcmp rex_gcc_memcmp
#define __builtin_memchr rex_gcc_memchr
#define __builtin_strlen rex_gcc_strlen
#define __builtin_strcmp rex_gcc_strcmp

#ifndef __clang__
REX_GCC void *rex_gcc_memmove(void *to, const void *from, __SIZE_TYPE__ bytes) {
  unsigned char *target = static_cast<unsigned char *>(to);
  const unsigned char *source = static_cast<const unsigned char *>(from);
  if (target < source)
    for (__SIZE_TYPE__ i = 0; i < bytes; ++i) target[i] = source[i];
  else
    for (__SIZE_TYPE__ i = bytes; i > 0; --i) target[i - 1] = source[i - 1];
  return to;
}
#define __builtin_memmove rex_gcc_memmove

REX_GCC_NUMBER unsigned short rex_gcc_bswap16(unsigned short x) {
  return static_cast<unsigned short>(x << 8 | x >> 8);
}
REX_GCC_NUMBER unsigned rex_gcc_bswap32(unsigned x) {
  return x << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24;
}
REX_GCC_NUMBER unsigned long rex_gcc_bswap64(unsigned long x) {
  return static_cast<unsigned long>(rex_gcc_bswap32(static_cast<unsigned>(x))) << 32 |
         rex_gcc_bswap32(static_cast<unsigned>(x >> 32));
}
REX_GCC_NUMBER int rex_gcc_ctz(unsigned x) { return __builtin_ffs(static_cast<int>(x)) - 1; }
REX_GCC_NUMBER int rex_gcc_ctzll(unsigned long long x) { return __builtin_ffsll(static_cast<long long>(x)) - 1; }
REX_GCC_NUMBER int rex_gcc_parity(unsigned x) { return __builtin_popcount(x) & 1; }
REX_GCC_NUMBER int rex_gcc_parityll(unsigned long long x) { return __builtin_popcountll(x) & 1; }
// The leading zeros of what differs from the sign in each bit, of one bit more than the number has.
REX_GCC_NUMBER int rex_gcc_clrsbll(long long x) { return __builtin_clzll(static_cast<unsigned long long>(x < 0 ? ~x : x) << 1 | 1); }
REX_GCC_NUMBER int rex_gcc_clrsb(int x) { return rex_gcc_clrsbll(x) - 32; }
#define __builtin_bswap16 rex_gcc_bswap16
#define __builtin_bswap32 rex_gcc_bswap32
#define __builtin_bswap64 rex_gcc_bswap64
#define __builtin_clzl __builtin_clzll
#define __builtin_ffsl __builtin_ffsll
#define __builtin_popcountl __builtin_popcountll
#define __builtin_ctz rex_gcc_ctz
#define __builtin_ctzl rex_gcc_ctzll
#define __builtin_ctzll rex_gcc_ctzll
#define __builtin_parity rex_gcc_parity
#define __builtin_parityl rex_gcc_parityll
#define __builtin_parityll rex_gcc_parityll
#define __builtin_clrsb rex_gcc_clrsb
#define __builtin_clrsbl rex_gcc_clrsbll
#define __builtin_clrsbll rex_gcc_clrsbll

template <typename A, typename B> REX_GCC_NUMBER bool rex_gcc_isgreater(A a, B b) { return a > b; }
template <typename A, typename B> REX_GCC_NUMBER bool rex_gcc_isgreaterequal(A a, B b) { return a >= b; }
template <typename A, typename B> REX_GCC_NUMBER bool rex_gcc_isless(A a, B b) { return a < b; }
template <typename A, typename B> REX_GCC_NUMBER bool rex_gcc_islessequal(A a, B b) { return a <= b; }
template <typename A, typename B> REX_GCC_NUMBER bool rex_gcc_islessgreater(A a, B b) { return a < b || a > b; }
template <typename A, typename B> REX_GCC_NUMBER bool rex_gcc_isunordered(A a, B b) { return a != a || b != b; }
#define __builtin_isgreater rex_gcc_isgreater
#define __builtin_isgreaterequal rex_gcc_isgreaterequal
#define __builtin_isless rex_gcc_isless
#define __builtin_islessequal rex_gcc_islessequal
#define __builtin_islessgreater rex_gcc_islessgreater
#define __builtin_isunordered rex_gcc_isunordered

// Whether a number is less than every normal one.
REX_GCC_NUMBER bool rex_gcc_is_small(float x) { return x < __FLT_MIN__ && x > -__FLT_MIN__; }
REX_GCC_NUMBER bool rex_gcc_is_small(double x) { return x < __DBL_MIN__ && x > -__DBL_MIN__; }
REX_GCC_NUMBER bool rex_gcc_is_small(long double x) { return x < __LDBL_MIN__ && x > -__LDBL_MIN__; }
template <typename Number>
REX_GCC_NUMBER int rex_gcc_fpclassify(int nan, int infinite, int normal, int subnormal, int zero, Number x) {
  return x != x ? nan : x == 0 ? zero : x - x != 0 ? infinite : rex_gcc_is_small(x) ? subnormal : normal;
}
template <typename Number> REX_GCC_NUMBER bool rex_gcc_isnormal(Number x) {
  return x - x == 0 && !rex_gcc_is_small(x);
}
template <typename Number> REX_GCC_NUMBER int rex_gcc_isinf_sign(Number x) {
  return x - x == 0 || x != x ? 0 : x > 0 ? 1 : -1;
}
#define __builtin_fpclassify rex_gcc_fpclassify
#define __builtin_isnormal rex_gcc_isnormal
#define __builtin_isinf_sign rex_gcc_isinf_sign

// By 128 bits, which hold every sum and product of 64; unsigned ones if both factors are.
template <typename A, typename B, typename Result> REX_GCC bool rex_gcc_add_overflow(A a, B b, Result *result) {
  const __int128 exact = static_cast<__int128>(a) + b;
  return static_cast<__int128>(*result = static_cast<Result>(exact)) != exact;
}
template <typename A, typename B, typename Result> REX_GCC bool rex_gcc_sub_overflow(A a, B b, Result *result) {
  const __int128 exact = static_cast<__int128>(a) - b;
  return static_cast<__int128>(*result = static_cast<Result>(exact)) != exact;
}
template <typename A, typename B, typename Result> REX_GCC bool rex_gcc_mul_overflow(A a, B b, Result *result) {
  if (a > 0 && b > 0) {
    const unsigned __int128 exact = static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b);
    *result = static_cast<Result>(exact);
    return !(*result >= static_cast<Result>(1)) || static_cast<unsigned __int128>(*result) != exact;
  }
  const __int128 exact = static_cast<__int128>(a) * b;
  return static_cast<__int128>(*result = static_cast<Result>(exact)) != exact;
}
#define __builtin_add_overflow rex_gcc_add_overflow
#define __builtin_sub_overflow rex_gcc_sub_overflow
#define __builtin_mul_overflow rex_gcc_mul_overflow

// Those for one type convert their operands to that of the result.
template <typename Integer> struct rex_gcc_operand {
  typedef Integer type;
};
#define REX_GCC_SIZED(operation)                                                                             \
  template <typename Integer>                                                                                \
  REX_GCC bool rex_gcc_sized_##operation##_overflow(typename rex_gcc_operand<Integer>::type a,               \
                                                    typename rex_gcc_operand<Integer>::type b, Integer *result) { \
    return rex_gcc_##operation##_overflow(a, b, result);                                                     \
  }
REX_GCC_SIZED(add)
REX_GCC_SIZED(sub)
REX_GCC_SIZED(mul)
#undef REX_GCC_SIZED
#define __builtin_sadd_overflow rex_gcc_sized_add_overflow
#define __builtin_saddl_overflow rex_gcc_sized_add_overflow
#define __builtin_saddll_overflow rex_gcc_sized_add_overflow
#define __builtin_uadd_overflow rex_gcc_sized_add_overflow
#define __builtin_uaddl_overflow rex_gcc_sized_add_overflow
#define __builtin_uaddll_overflow rex_gcc_sized_add_overflow
#define __builtin_ssub_overflow rex_gcc_sized_sub_overflow
#define __builtin_ssubl_overflow rex_gcc_sized_sub_overflow
#define __builtin_ssubll_overflow rex_gcc_sized_sub_overflow
#define __builtin_usub_overflow rex_gcc_sized_sub_overflow
#define __builtin_usubl_overflow rex_gcc_sized_sub_overflow
#define __builtin_usubll_overflow rex_gcc_sized_sub_overflow
#define __builtin_smul_overflow rex_gcc_sized_mul_overflow
#define __builtin_smull_overflow rex_gcc_sized_mul_overflow
#define __builtin_smulll_overflow rex_gcc_sized_mul_overflow
#define __builtin_umul_overflow rex_gcc_sized_mul_overflow
#define __builtin_umull_overflow rex_gcc_sized_mul_overflow
#define __builtin_umulll_overflow rex_gcc_sized_mul_overflow

REX_GCC void rex_gcc_trap() {
#ifdef __CUDA_ARCH__
  __asm__ volatile("trap;");
#else
  __builtin_trap();
#endif
}
template <typename... Values> REX_GCC void rex_gcc_prefetch(Values...) {}
REX_GCC __SIZE_TYPE__ rex_gcc_object_size(const void *, int kind) { return kind < 2 ? ~static_cast<__SIZE_TYPE__>(0) : 0; }
REX_GCC_NUMBER long rex_gcc_expect_with_probability(long value, long, double) { return value; }
#define __builtin_trap rex_gcc_trap
#define __builtin_abort rex_gcc_trap
#define __builtin_prefetch rex_gcc_prefetch
#define __builtin_object_size rex_gcc_object_size
#define __builtin_expect_with_probability rex_gcc_expect_with_probability
// Whether something is a constant may always be denied.
#define __builtin_constant_p(...) 0

#ifndef __CUDA_RUNTIME_H__
// GCC's words for functions that are constexpr since a standard. nvcc takes constexpr ones for functions of both sides, but not those of an older
// standard (std::swap), nor such where a class without constexpr constructors is a parameter (parts of std::sort).
#define REX_GCC_BOTH __attribute__((host)) __attribute__((device))
#if __cplusplus >= 201402L
#define _GLIBCXX14_CONSTEXPR constexpr REX_GCC_BOTH
#else
#define _GLIBCXX14_CONSTEXPR REX_GCC_BOTH
#endif
#if __cplusplus >= 202002L
#define _GLIBCXX20_CONSTEXPR constexpr REX_GCC_BOTH
#else
#define _GLIBCXX20_CONSTEXPR REX_GCC_BOTH
#endif
#if __cplusplus < 201703L && __has_include(<bits/c++config.h>)
// The word of 2017 also stands behind `if`, but in none of these headers.
#define _GLIBCXX17_CONSTEXPR REX_GCC_BOTH
#include <array>
#undef _GLIBCXX17_CONSTEXPR
#define _GLIBCXX17_CONSTEXPR
#endif
#endif
#endif // nvcc

#undef REX_GCC
#undef REX_GCC_NUMBER
#undef REX_GCC_TEXT
#endif // REX_NVIDIA_BUILTINS

#if !defined(__CUDACC__) || defined(__clang__) || defined(__CUDA_RUNTIME_H__)

// ---- First part: before the user's includes -------------------------------------------------------------
//
// rex_nvidia.cu includes this part alone (REX_NVIDIA_WORDS_ONLY) in front of the device file.

#ifndef REX_NVIDIA_WORDS
#define REX_NVIDIA_WORDS

#include <stddef.h>
#include <stdint.h>

/// REX_LOOP: a kernel without barriers; its threads may run one after the other.
/// REX_TEAM: a kernel with barriers; the threads of a block take turns at each.
enum rex_kernel_kind { REX_LOOP, REX_TEAM };

#if defined(REX_DEVICE_HOST)

// What rex_nvidia.cu does for a host image. Hidden: images in one process must not share it.
#pragma GCC visibility push(hidden)
struct rex_index {
  unsigned x, y, z;
};
extern thread_local rex_index threadIdx, blockIdx, blockDim, gridDim;

/// Runs `thread` once for each thread of `teams` blocks; `slots` are the kernel's arguments.
void rex_host_run(rex_kernel_kind kind, void (*thread)(const uint64_t *slots), const uint64_t *slots,
                  uint64_t teams, uint64_t threads, uint64_t shared_bytes);
/// Waits for all threads of the block (or of the warp) that have not returned; whether one of them says so.
bool rex_host_barrier(bool said);
void rex_host_warp_barrier();
/// Lets others go on, in a loop that waits for them.
void rex_host_pause();
/// Lets others go on now and then: called before each look at what they may change.
void rex_host_look();
/// Dynamic shared memory of the running block, and its size.
void *rex_host_shared();
uint64_t rex_host_shared_bytes();
#pragma GCC visibility pop

#elif defined(__clang__) && defined(__CUDA__)

#define REX_CLANG_CUDA

#define __global__ __attribute__((__global__))
#define __device__ __attribute__((__device__))
#define __host__ __attribute__((__host__))
#define __constant__ __attribute__((__constant__))
#define __shared__ __attribute__((__shared__))
#define __forceinline__ __inline__ __attribute__((__always_inline__))
#define __launch_bounds__(...) __attribute__((__launch_bounds__(__VA_ARGS__)))

#define REX_INDEX(object, of)                                                                                \
  struct rex_##object {                                                                                      \
    __declspec(property(get = rex_x)) unsigned x;                                                            \
    __declspec(property(get = rex_y)) unsigned y;                                                            \
    __declspec(property(get = rex_z)) unsigned z;                                                            \
    static __device__ __forceinline__ unsigned rex_x() { return __nvvm_read_ptx_sreg_##of##_x(); }           \
    static __device__ __forceinline__ unsigned rex_y() { return __nvvm_read_ptx_sreg_##of##_y(); }           \
    static __device__ __forceinline__ unsigned rex_z() { return __nvvm_read_ptx_sreg_##of##_z(); }           \
  };                                                                                                         \
  extern const __device__ rex_##object object;
REX_INDEX(threadIdx, tid)
REX_INDEX(blockIdx, ctaid)
REX_INDEX(blockDim, ntid)
REX_INDEX(gridDim, nctaid)
#undef REX_INDEX

__device__ __forceinline__ void __syncwarp(unsigned mask = ~0u) {
  asm volatile("bar.warp.sync %0;" : : "r"(mask) : "memory");
}
__device__ __forceinline__ unsigned __activemask() {
  unsigned mask;
  asm volatile("activemask.b32 %0;" : "=r"(mask));
  return mask;
}
__device__ __forceinline__ unsigned __shfl_down_sync(unsigned mask, unsigned value, unsigned distance) {
  unsigned result;
  asm volatile("shfl.sync.down.b32 %0, %1, %2, 31, %3;"
               : "=r"(result)
               : "r"(value), "r"(distance), "r"(mask));
  return result;
}
__device__ __forceinline__ unsigned __shfl_up_sync(unsigned mask, unsigned value, unsigned distance) {
  unsigned result;
  asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, %3;"
               : "=r"(result)
               : "r"(value), "r"(distance), "r"(mask));
  return result;
}

// The C library on the GPU: printf, malloc and assert are the driver's, the mathematical functions are those
// of NVIDIA's libdevice. Without it (-Xclang -mlink-builtin-bitcode) those below are instructions, and ptxas
// names any other (sin, exp, pow, ...) as an unresolved function.
extern "C" {
__device__ int printf(const char *, ...);
__device__ int vprintf(const char *, const char *);
__device__ void *malloc(size_t);
__device__ void free(void *);
__device__ void __assertfail(const char *, const char *, unsigned, const char *, size_t);
__device__ __forceinline__ void __assert_fail(const char *what, const char *file, unsigned line,
                                              const char *function) {
  __assertfail(what, file, line, function, 1);
}
__device__ __forceinline__ void *memmove(void *to, const void *from, size_t bytes) {
  return __builtin_memmove(to, from, bytes);
}
}
// clang's own overloads for the device; they ask which CUDA they are for, and stand around <cmath>.
#define CUDA_VERSION 12000
#include <__clang_cuda_math_forward_declares.h>
#include <cmath>
#include <limits.h>
#include <__clang_cuda_libdevice_declares.h>
#include <__clang_cuda_device_functions.h>
#include <__clang_cuda_math.h>
#include <__clang_cuda_cmath.h>
#undef CUDA_VERSION

#define REX_MATH(function)                                                                                   \
  __device__ __forceinline__ double __nv_##function(double x) { return __builtin_##function(x); }            \
  __device__ __forceinline__ float __nv_##function##f(float x) { return __builtin_##function##f(x); }
#define REX_MATH_2(function)                                                                                 \
  __device__ __forceinline__ double __nv_##function(double x, double y) {                                    \
    return __builtin_##function(x, y);                                                                       \
  }                                                                                                          \
  __device__ __forceinline__ float __nv_##function##f(float x, float y) {                                    \
    return __builtin_##function##f(x, y);                                                                    \
  }
extern "C" {
REX_MATH(sqrt)
REX_MATH(fabs)
REX_MATH(floor)
REX_MATH(ceil)
REX_MATH(trunc)
REX_MATH(round)
REX_MATH(rint)
REX_MATH(nearbyint)
REX_MATH_2(fmin)
REX_MATH_2(fmax)
REX_MATH_2(copysign)
__device__ __forceinline__ double __nv_fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
__device__ __forceinline__ float __nv_fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
__device__ __forceinline__ int __nv_abs(int x) { return x < 0 ? -x : x; }
__device__ __forceinline__ long long __nv_llabs(long long x) { return x < 0 ? -x : x; }
__device__ __forceinline__ int __nv_isnand(double x) { return x != x; }
__device__ __forceinline__ int __nv_isnanf(float x) { return x != x; }
__device__ __forceinline__ int __nv_isinfd(double x) { return __builtin_fabs(x) == __builtin_huge_val(); }
__device__ __forceinline__ int __nv_isinff(float x) { return __builtin_fabsf(x) == __builtin_huge_valf(); }
__device__ __forceinline__ int __nv_isfinited(double x) { return __builtin_fabs(x) < __builtin_huge_val(); }
__device__ __forceinline__ int __nv_finitef(float x) { return __builtin_fabsf(x) < __builtin_huge_valf(); }
__device__ __forceinline__ int __nv_signbitd(double x) { return __builtin_signbit(x); }
__device__ __forceinline__ int __nv_signbitf(float x) { return __builtin_signbitf(x); }
}
#undef REX_MATH
#undef REX_MATH_2

#else

// nvcc declares it with <stdio.h> only, which a program may not include.
extern "C" __host__ __device__ __cudart_builtin__ int printf(const char *, ...);

#endif
#endif

// ---- Second part: below the user's includes and macros --------------------------------------------------

#if !defined(REX_NVIDIA_WORDS_ONLY) && !defined(REX_NVIDIA_H)
#define REX_NVIDIA_H

#include <new>
#include <type_traits>

#ifndef REX_LLVM_ABI
#define REX_LLVM_ABI 19
#endif

#if defined(REX_DEVICE_HOST)

#include <stdarg.h>
#include <string.h>
#include <time.h>

// CUDA's own headers define these for a host compiler too.
#undef __global__
#undef __device__
#undef __host__
#undef __constant__
#undef __shared__
#undef __forceinline__
#undef __launch_bounds__

#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static thread_local // one OS thread runs one block at a time
#define __forceinline__ inline __attribute__((__always_inline__))
#define __launch_bounds__(...)

#pragma GCC visibility push(hidden)
inline void __syncthreads() { rex_host_barrier(false); }
inline int __syncthreads_or(int predicate) { return rex_host_barrier(predicate != 0); }
inline void __syncwarp(unsigned = ~0u) { rex_host_warp_barrier(); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#endif

#if defined(REX_DEVICE_HOST) || defined(REX_CLANG_CUDA)

/// The type of a parameter that takes part in no deduction: atomicAdd(&counter, 1) for any counter.
template <typename Value> struct rex_same {
  typedef Value type;
};

#define REX_ATOMIC(name, builtin)                                                                            \
  template <typename Value>                                                                                  \
  __device__ __forceinline__ Value name(Value *address, typename rex_same<Value>::type value) {              \
    return builtin(address, value, __ATOMIC_RELAXED);                                                        \
  }
REX_ATOMIC(atomicSub, __atomic_fetch_sub)
REX_ATOMIC(atomicAnd, __atomic_fetch_and)
REX_ATOMIC(atomicOr, __atomic_fetch_or)
REX_ATOMIC(atomicXor, __atomic_fetch_xor)
#ifdef REX_CLANG_CUDA
REX_ATOMIC(atomicAdd, __atomic_fetch_add)
#endif
#undef REX_ATOMIC

template <typename Value>
__device__ __forceinline__ Value atomicCAS(Value *address, typename rex_same<Value>::type expected,
                                           typename rex_same<Value>::type desired) {
  __atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}

template <typename Value>
__device__ __forceinline__ Value atomicExch(Value *address, typename rex_same<Value>::type value) {
  Value before;
  __atomic_exchange(address, &value, &before, __ATOMIC_RELAXED);
  return before;
}

#define REX_ATOMIC(name, after)                                                                              \
  template <typename Value>                                                                                  \
  __device__ __forceinline__ Value name(Value *address, typename rex_same<Value>::type value) {              \
    Value before, wanted;                                                                                    \
    __atomic_load(address, &before, __ATOMIC_RELAXED);                                                       \
    do wanted = after;                                                                                       \
    while (!__atomic_compare_exchange(address, &before, &wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)); \
    return before;                                                                                           \
  }
REX_ATOMIC(atomicMin, value < before ? value : before)
REX_ATOMIC(atomicMax, before < value ? value : before)
#ifdef REX_DEVICE_HOST
REX_ATOMIC(atomicAdd, before + value) // of floating types too, which gcc has no builtin for
#endif
#undef REX_ATOMIC

#endif

#ifdef REX_DEVICE_HOST
#define REX_DEVICE inline
#define REX_BOTH inline
#else
#define REX_DEVICE __device__ __forceinline__
#define REX_BOTH __host__ __device__ __forceinline__
#endif

#if defined(REX_FLOAT16) && defined(__CUDACC__) && !defined(__clang__)
// ---- _Float16 -----------------------------------------------------------------------------------------------
//
// nvcc has none. Operations are done in float, which loses nothing, and rounded to 16 bits.

class rex_float16 {
public:
  rex_float16() = default;
  template <typename Value, typename = typename std::enable_if<std::is_arithmetic<Value>::value>::type>
  __host__ __device__ rex_float16(Value value) : bits_(rounded(value)) {}
  __host__ __device__ operator float() const {
    float wide = 0;
#ifdef __CUDA_ARCH__
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(bits_));
#endif
    return wide;
  }
  template <typename Value> __host__ __device__ rex_float16 &operator+=(Value by) { return *this = *this + by; }
  template <typename Value> __host__ __device__ rex_float16 &operator-=(Value by) { return *this = *this - by; }
  template <typename Value> __host__ __device__ rex_float16 &operator*=(Value by) { return *this = *this * by; }
  template <typename Value> __host__ __device__ rex_float16 &operator/=(Value by) { return *this = *this / by; }
  __host__ __device__ rex_float16 &operator++() { return *this += 1; }
  __host__ __device__ rex_float16 &operator--() { return *this -= 1; }
  __host__ __device__ rex_float16 operator++(int) {
    rex_float16 before = *this;
    *this += 1;
    return before;
  }
  __host__ __device__ rex_float16 operator--(int) {
    rex_float16 before = *this;
    *this -= 1;
    return before;
  }

  /// From its representation.
  static constexpr __host__ __device__ rex_float16 of_bits(unsigned short bits) { return rex_float16(bits, 0); }

private:
  constexpr __host__ __device__ rex_float16(unsigned short bits, int) : bits_(bits) {}
  static __host__ __device__ unsigned short rounded(double value) {
    unsigned short bits = 0;
#ifdef __CUDA_ARCH__
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(value));
#endif
    return bits;
  }
  static __host__ __device__ unsigned short rounded(float value) {
    unsigned short bits = 0;
#ifdef __CUDA_ARCH__
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#endif
    return bits;
  }
  template <typename Integer> static __host__ __device__ unsigned short rounded(Integer value) {
    return rounded(static_cast<double>(value));
  }

  unsigned short bits_;
};

/// What an operation with a number of another type gives: that type if it is a wider one, else 16 bits.
template <typename Value>
using rex_with_float16 = typename std::enable_if<
    std::is_arithmetic<Value>::value,
    typename std::conditional<std::is_floating_point<Value>::value, Value, rex_float16>::type>::type;

#define REX_FLOAT16_OPERATOR(sign)                                                                           \
  __host__ __device__ inline rex_float16 operator sign(rex_float16 a, rex_float16 b) {                       \
    return static_cast<float>(a) sign static_cast<float>(b);                                                 \
  }                                                                                                          \
  template <typename Value>                                                                                  \
  __host__ __device__ inline rex_with_float16<Value> operator sign(rex_float16 a, Value b) {                 \
    return static_cast<rex_with_float16<Value>>(a) sign static_cast<rex_with_float16<Value>>(b);             \
  }                                                                                                          \
  template <typename Value>                                                                                  \
  __host__ __device__ inline rex_with_float16<Value> operator sign(Value a, rex_float16 b) {                 \
    return static_cast<rex_with_float16<Value>>(a) sign static_cast<rex_with_float16<Value>>(b);             \
  }
REX_FLOAT16_OPERATOR(+)
REX_FLOAT16_OPERATOR(-)
REX_FLOAT16_OPERATOR(*)
REX_FLOAT16_OPERATOR(/)
#undef REX_FLOAT16_OPERATOR
__host__ __device__ inline rex_float16 operator-(rex_float16 value) { return -static_cast<float>(value); }
__host__ __device__ inline rex_float16 operator+(rex_float16 value) { return value; }

#define REX_FLOAT16_COMPARISON(sign)                                                                         \
  __host__ __device__ inline bool operator sign(rex_float16 a, rex_float16 b) {                              \
    return static_cast<float>(a) sign static_cast<float>(b);                                                 \
  }                                                                                                          \
  template <typename Value>                                                                                  \
  __host__ __device__ inline typename std::enable_if<std::is_arithmetic<Value>::value, bool>::type operator  \
  sign(rex_float16 a, Value b) {                                                                             \
    return static_cast<rex_with_float16<Value>>(a) sign static_cast<rex_with_float16<Value>>(b);             \
  }                                                                                                          \
  template <typename Value>                                                                                  \
  __host__ __device__ inline typename std::enable_if<std::is_arithmetic<Value>::value, bool>::type operator  \
  sign(Value a, rex_float16 b) {                                                                             \
    return static_cast<rex_with_float16<Value>>(a) sign static_cast<rex_with_float16<Value>>(b);             \
  }
REX_FLOAT16_COMPARISON(==)
REX_FLOAT16_COMPARISON(!=)
REX_FLOAT16_COMPARISON(<)
REX_FLOAT16_COMPARISON(>)
REX_FLOAT16_COMPARISON(<=)
REX_FLOAT16_COMPARISON(>=)
#undef REX_FLOAT16_COMPARISON

#define _Float16 rex_float16
#define REX_HAS_FLOAT16_CLASS
#endif

// ---- Kernels --------------------------------------------------------------------------------------------

// LLVM 18 and later (19 and later: with packet version 3) pass a pointer in front of a kernel's arguments.
#if REX_LLVM_ABI >= 18
#define REX_HIDDEN_PARAMETERS 1
#define REX_LAUNCH_ENVIRONMENT void *,
#define REX_LAUNCH_ENVIRONMENT_ALONE void *
#else
#define REX_HIDDEN_PARAMETERS 0
#define REX_LAUNCH_ENVIRONMENT
#define REX_LAUNCH_ENVIRONMENT_ALONE
#endif

/// The parameters of a kernel. From LLVM 19 they are slots of one flat array: each has 8 bytes.
template <typename Kernel> struct rex_parameters;
template <> struct rex_parameters<void()> {
  static constexpr int rex_count = 0;
  static constexpr bool rex_are_slots = true;
};
template <typename First, typename... Others> struct rex_parameters<void(First, Others...)> {
  static constexpr int rex_count = 1 + sizeof...(Others);
  static constexpr bool rex_are_slots = sizeof(First) == 8 && rex_parameters<void(Others...)>::rex_are_slots;
};

#define REX_CHECK_KERNEL(name, parameters_count)                                                             \
  static_assert(rex_parameters<decltype(name)>::rex_count == (parameters_count) + REX_HIDDEN_PARAMETERS,         \
                #name " has another number of parameters");                                                  \
  static_assert(rex_parameters<decltype(name)>::rex_are_slots, #name " has a parameter that is not 8 bytes wide");

/// REX_KERNEL(kernel, parameters without the hidden one, REX_LOOP or REX_TEAM), after the kernel: what the
/// runtime needs to launch it.
#if defined(REX_DEVICE_HOST)

/// The arguments as the host plugin passes them, each in an integer register or on the stack.
template <int Count> struct rex_slots {
  uint64_t rex_slot[Count];
  rex_slots(uint64_t first, va_list others) {
    rex_slot[0] = first;
    for (int i = 1; i < Count; ++i) rex_slot[i] = va_arg(others, uint64_t);
  }
};

template <size_t...> struct rex_positions {};
template <size_t Count, size_t... Position>
struct rex_positions_to : rex_positions_to<Count - 1, Count - 1, Position...> {};
template <size_t... Position> struct rex_positions_to<0, Position...> {
  typedef rex_positions<Position...> type;
};

/// Calls a kernel with arguments from slots.
template <typename Type, Type *Kernel> struct rex_host_kernel;
template <typename... Parameter, void (*Kernel)(Parameter...)>
struct rex_host_kernel<void(Parameter...), Kernel> {
  static void rex_call(const uint64_t *slots) {
    rex_call(slots, typename rex_positions_to<sizeof...(Parameter)>::type());
  }

private:
  template <size_t... Position> static void rex_call(const uint64_t *slots, rex_positions<Position...>) {
    (void)slots;
    Kernel(value<Parameter>(slots[Position])...);
  }
  template <typename Value> static Value value(uint64_t slot) {
    Value result;
    __builtin_memcpy(&result, &slot, sizeof result);
    return result;
  }
};

// Three arguments follow the kernel's own: teams, threads and bytes of dynamic shared memory.
#define REX_KERNEL(name, parameters_count, kind)                                                             \
  REX_CHECK_KERNEL(name, parameters_count)                                                                   \
  __attribute__((__visibility__("default"))) void name##__host_entry(uint64_t rex_first, ...) {                      \
    constexpr int rex_count = (parameters_count) + REX_HIDDEN_PARAMETERS;                                        \
    va_list rex_others;                                                                                          \
    va_start(rex_others, rex_first);                                                                                 \
    const rex_slots<rex_count + 3> rex_argument(rex_first, rex_others);                                                      \
    va_end(rex_others);                                                                                          \
    rex_host_run(kind, rex_host_kernel<decltype(name), name>::rex_call, rex_argument.rex_slot, rex_argument.rex_slot[rex_count],     \
                 rex_argument.rex_slot[rex_count + 1], rex_argument.rex_slot[rex_count + 2]);                                        \
  }                                                                                                          \
  REX_IMAGE_ENTRY(name##__host_entry, (void *)name##__host_entry, 0)

// LLVM 14 and 15 want a table in the host image too (register_cubin.cpp orders its own by it).
#if REX_LLVM_ABI <= 15
struct rex_image_entry {
  void *address;
  const char *symbol;
  size_t bytes;
  int32_t flags, reserved;
};
#define REX_IMAGE_SECTION                                                                                    \
  __attribute__((__section__("omp_offloading_entries"), __used__, __aligned__(8), __visibility__("default")))
#define REX_IMAGE_ENTRY(name, address, bytes)                                                                \
  REX_IMAGE_SECTION rex_image_entry name##__image_entry = {address, #name, bytes, 0, 0};
#else
#define REX_IMAGE_ENTRY(name, address, bytes)
#endif

#elif REX_LLVM_ABI >= 18

/// How LLVM 18 and later learn a kernel's execution mode; without it they launch exactly the numbers given.
struct rex_kernel_environment {
  uint8_t generic_state_machine = 0, nested_parallelism = 0, execution_mode = 2; // SPMD
  int32_t min_threads = 0, max_threads = 0, min_teams = 0, max_teams = 0;
  int32_t reduction_bytes = 0, reduction_length = 0;
  void *ident = nullptr, *dynamic = nullptr;
};
static_assert(sizeof(rex_kernel_environment) == 48, "layout of KernelEnvironmentTy");
#define REX_KERNEL(name, parameters_count, kind)                                                             \
  REX_CHECK_KERNEL(name, parameters_count)                                                                   \
  __device__ rex_kernel_environment name##_kernel_environment;
#define REX_IMAGE_ENTRY(name, address, bytes)

#else

#define REX_KERNEL(name, parameters_count, kind)                                                             \
  REX_CHECK_KERNEL(name, parameters_count)                                                                   \
  __device__ signed char name##_exec_mode = 2 /* SPMD */;
#define REX_IMAGE_ENTRY(name, address, bytes)

#endif

/// The parameter of a kernel for one value of a pack.
template <typename Value> struct rex_packed {
  typedef uint64_t rex_type;
};

/// REX_KERNEL_TEMPLATE(kernel, (typename T, int N), (T, N), parameters without the hidden one, REX_LOOP or
/// REX_TEAM), after a kernel that is a template. Its symbol is the one that C++ gives it, which no name of a
/// kernel environment can follow: the runtime launches exactly the numbers given.
#define REX_UNWRAP(...) __VA_ARGS__
#ifdef REX_DEVICE_HOST
#define REX_KERNEL_TEMPLATE(name, parameters, arguments, parameters_count, kind)                             \
  template <REX_UNWRAP parameters> void name##__host_entry(uint64_t rex_first, ...) {                            \
    constexpr int rex_count = (parameters_count) + REX_HIDDEN_PARAMETERS;                                        \
    va_list rex_others;                                                                                          \
    va_start(rex_others, rex_first);                                                                                 \
    const rex_slots<rex_count + 3> rex_argument(rex_first, rex_others);                                                      \
    va_end(rex_others);                                                                                          \
    rex_host_run(kind, rex_host_kernel<decltype(name<REX_UNWRAP arguments>), name<REX_UNWRAP arguments>>::rex_call, \
                 rex_argument.rex_slot, rex_argument.rex_slot[rex_count], rex_argument.rex_slot[rex_count + 1], rex_argument.rex_slot[rex_count + 2]);   \
  }
#define REX_KERNEL_TEMPLATE_DECLARED(name, parameters)                                                       \
  template <REX_UNWRAP parameters>                                                                           \
  __attribute__((__used__, __visibility__("default"))) void name##__host_entry(uint64_t rex_first, ...);
/// REX_INSTANCE(kernel, T, N), in host code that is never executed: makes the compiler instantiate the kernel.
#define REX_INSTANCE(name, ...) (void)&name##__host_entry<__VA_ARGS__>
#else
#define REX_KERNEL_TEMPLATE(name, parameters, arguments, parameters_count, kind)
#define REX_KERNEL_TEMPLATE_DECLARED(name, parameters)
#define REX_INSTANCE(name, ...) (void)&name<__VA_ARGS__>
#endif

/// The end of a function that only leads to REX_INSTANCE.
#define REX_NEVER_EXECUTED() __builtin_unreachable()

/// REX_TRY and REX_THROW(exception): `try` and `throw` where the device can do so. On a GPU a throw ends the program.
#ifdef REX_DEVICE_HOST
#define REX_TRY try
#define REX_THROW(...) throw __VA_ARGS__
#else
#define REX_TRY
#define REX_THROW(...) rex_throw()
struct rex_thrown {
  template <typename Value> __host__ __device__ operator Value() const { __builtin_unreachable(); }
};
__host__ __device__ inline rex_thrown rex_throw() {
#ifdef __CUDA_ARCH__
  printf("rex: an exception was thrown on the device\n");
  asm volatile("trap;");
#endif
  return rex_thrown();
}
#endif

/// REX_LONG_DOUBLE("variable"): the host passes a number in a format that GPUs do not know.
#ifdef REX_DEVICE_HOST
#define REX_LONG_DOUBLE(name) static_assert(true, "")
#else
#define REX_LONG_DOUBLE(name)                                                                                \
  static_assert(sizeof(name) == 0, "REX0906: " name " has a long double, which GPUs do not know; use double")
#endif

/// REX_GLOBAL(variable), after a declare target variable in the extern "C" block.
#define REX_GLOBAL(name) REX_IMAGE_ENTRY(name, (void *)&name, sizeof(name))
/// REX_STATIC_MEMBER(symbol, C::rex_storage_member()), the same for the object of a static data member, which is kept
/// for the runtime if no device code of the file uses it.
#define REX_STATIC_MEMBER(symbol, ...)                                                                       \
  static REX_DEVICE __attribute__((__used__)) void *symbol##__kept() { return (void *)&(__VA_ARGS__); }      \
  REX_IMAGE_ENTRY(symbol, (void *)&(__VA_ARGS__), sizeof((__VA_ARGS__)))

#if __cplusplus >= 201402L
/// A copy on the device of a constant data member, whose value the compiler knows, too: functions that it executes read it.
template <typename Reference> struct rex_constant;
template <typename Value> struct rex_constant<const Value &> {
  Value rex_value;
  constexpr rex_constant(const Value &from) : rex_value(from) {}
};
template <typename Value, size_t Count> struct rex_constant<const Value (&)[Count]> {
  Value rex_value[Count];
  constexpr rex_constant(const Value (&from)[Count]) : rex_value{} {
    for (size_t i = 0; i < Count; i++) rex_value[i] = from[i];
  }
};
template <typename Source>
static __device__ constexpr rex_constant<decltype(Source::rex_value)> rex_constant_of = Source::rex_value;
#endif

/// Room for an object or array whose constructors run when a kernel says so: a global variable, which the runtime finds by its
/// name, or an object in shared memory.
template <typename Value> struct __attribute__((__visibility__("default"))) rex_storage {
  alignas(Value) unsigned char bytes[sizeof(Value)];
  REX_DEVICE Value &rex_object() { return *reinterpret_cast<Value *>(bytes); }
};

/// rex_referred<decltype((x))> is the type of x without reference.
template <typename Expression> using rex_referred = typename std::remove_reference<Expression>::type;

/// The type of an enumeration without a name, by one of its constants.
#define REX_ENUM_OF(constant) decltype(constant)

/// The type of a variable that the file does not spell.
// A type in one word, in front of braces or several arguments.
template <typename Type> using rex_object = Type;
#define REX_TYPE_OF(variable) typename rex_plain<decltype(variable)>::rex_type
template <typename Value> struct rex_plain {
  typedef typename std::remove_reference<Value>::type rex_type;
};

/// A pointer to an object whose type a template's parameter gives, which may be a reference.
template <typename Value> using rex_pointer = typename std::add_pointer<Value>::type;

/// What a pointer points to whose type a template's parameter gives; the same, or what an array is of (rex_kmp.h has both).
template <typename Value> struct rex_pointee {
  static_assert(sizeof(Value) == 0, "a list item takes elements of what is no pointer");
};
template <typename Value> struct rex_pointee<Value *> {
  typedef Value rex_type;
};
template <typename Value> struct rex_pointee<Value *const> : rex_pointee<Value *> {};
template <typename Value> struct rex_pointee<Value &> : rex_pointee<Value> {};
template <typename Value> struct rex_element : rex_pointee<Value> {};
template <typename Value> struct rex_element<Value &> : rex_element<Value> {};
template <typename Value, size_t Extent> struct rex_element<Value[Extent]> {
  typedef Value rex_type;
};
/// An object of a type, where only its members' types matter.
template <typename Value> REX_BOTH Value &rex_object_of();

/// A lambda that device code calls, as rex_kmp.h has it: the same layout, and a name in which the compiler's own can
/// be skipped.
template <unsigned File, int Number, typename... Around>
struct __attribute__((__visibility__("default"))) rex_lambda_end {};
template <typename Value, Value value> struct __attribute__((__visibility__("default"))) rex_argument_value {};
template <typename Member> struct rex_call_of_member {
  typedef void rex_type;
};
template <typename Lambda, typename Result, typename... Arguments>
struct rex_call_of_member<Result (Lambda::*)(Arguments...) const> {
  typedef Result rex_type(Arguments...) const;
};
template <typename Lambda, typename Result, typename... Arguments>
struct rex_call_of_member<Result (Lambda::*)(Arguments...)> {
  typedef Result rex_type(Arguments...);
};
#ifdef __cpp_noexcept_function_type
template <typename Lambda, typename Result, typename... Arguments>
struct rex_call_of_member<Result (Lambda::*)(Arguments...) const noexcept> {
  typedef Result rex_type(Arguments...) const;
};
template <typename Lambda, typename Result, typename... Arguments>
struct rex_call_of_member<Result (Lambda::*)(Arguments...) noexcept> {
  typedef Result rex_type(Arguments...);
};
#endif
template <typename Lambda, typename = void> struct rex_call {
  typedef void rex_type;
};
template <typename Lambda>
struct rex_call<Lambda, decltype((void)&Lambda::operator())> : rex_call_of_member<decltype(&Lambda::operator())> {};

template <int Pointers, typename Lambda> struct rex_closure_of : Lambda {
  constexpr REX_BOTH rex_closure_of(Lambda &&lambda) : Lambda(static_cast<Lambda &&>(lambda)), words() {}
  uint16_t words[Pointers];
};
template <typename Lambda> struct rex_closure_of<0, Lambda> : Lambda {
  constexpr REX_BOTH rex_closure_of(Lambda &&lambda) : Lambda(static_cast<Lambda &&>(lambda)) {}
};
template <unsigned File, int Number, int Pointers, typename Lambda, typename Call, typename End>
struct __attribute__((__visibility__("default"))) rex_closure : rex_closure_of<Pointers, Lambda> {
  constexpr REX_BOTH rex_closure(Lambda &&lambda)
      : rex_closure_of<Pointers, Lambda>(static_cast<Lambda &&>(lambda)) {}
};
template <unsigned File, int Number, int Pointers, typename Lambda, typename Result, typename... Arguments, typename End>
struct __attribute__((__visibility__("default")))
rex_closure<File, Number, Pointers, Lambda, Result(Arguments...) const, End> : rex_closure_of<Pointers, Lambda> {
  constexpr REX_BOTH rex_closure(Lambda &&lambda)
      : rex_closure_of<Pointers, Lambda>(static_cast<Lambda &&>(lambda)) {}
  constexpr REX_BOTH Result operator()(Arguments... arguments) const {
    return static_cast<const Lambda &>(*this)(static_cast<Arguments &&>(arguments)...);
  }
};
template <unsigned File, int Number, int Pointers, typename Lambda, typename Result, typename... Arguments, typename End>
struct __attribute__((__visibility__("default")))
rex_closure<File, Number, Pointers, Lambda, Result(Arguments...), End> : rex_closure_of<Pointers, Lambda> {
  constexpr REX_BOTH rex_closure(Lambda &&lambda)
      : rex_closure_of<Pointers, Lambda>(static_cast<Lambda &&>(lambda)) {}
  REX_BOTH Result operator()(Arguments... arguments) {
    return static_cast<Lambda &>(*this)(static_cast<Arguments &&>(arguments)...);
  }
};
template <unsigned File, int Number, int Pointers, typename Lambda, typename... Around>
using rex_closure_type = rex_closure<File, Number, Pointers, Lambda, typename rex_call<Lambda>::rex_type,
                                     rex_lambda_end<File, Number, Around...>>;
template <unsigned File, int Number, typename... Around, typename Lambda, typename... Targets>
constexpr REX_BOTH rex_closure_type<File, Number, sizeof...(Targets), Lambda, Around...>
rex_lambda(Lambda &&lambda, Targets...) {
  return static_cast<Lambda &&>(lambda);
}
template <typename Value> REX_BOTH int rex_by_value(const Value &) { return 0; }
#define REX_BY_REFERENCE(variable) 0

/// A value that came in a slot.
template <typename Value> REX_DEVICE Value rex_literal(uint64_t slot) {
  static_assert(sizeof(Value) <= sizeof slot, "wider values are passed by pointer");
  typename std::remove_cv<Value>::type value;
  __builtin_memcpy(&value, &slot, sizeof value);
  return value;
}

/// What is a class to the host, too.
template <typename Value> struct rex_is_class : std::is_class<Value> {};
#ifdef REX_HAS_FLOAT16_CLASS
template <> struct rex_is_class<rex_float16> : std::false_type {};
#endif

/// A variable whose type is known when a template is instantiated: a value, or the object behind the slot.
template <typename Value> struct rex_captured {
  typedef typename std::remove_cv<Value>::type Plain;
  static constexpr bool is_object =
      rex_is_class<Plain>::value || std::is_union<Value>::value || std::is_array<Value>::value ||
      (sizeof(Value) > sizeof(uint64_t));
  typedef typename std::conditional<is_object, Value &, Plain>::type rex_type;
  static REX_DEVICE rex_type rex_get(uint64_t slot) { return rex_get(slot, std::integral_constant<bool, is_object>()); }
  /// What a reduction combines into: the object, or for a value an object that nobody else reads.
  static REX_DEVICE Plain *rex_place(uint64_t slot) { return rex_place(slot, std::integral_constant<bool, is_object>()); }

private:
  static REX_DEVICE Plain *rex_place(uint64_t slot, std::true_type) { return reinterpret_cast<Plain *>(slot); }
  static REX_DEVICE Plain *rex_place(uint64_t slot, std::false_type) {
    static Plain unread;
    unread = rex_literal<Plain>(slot);
    return &unread;
  }
  static REX_DEVICE rex_type rex_get(uint64_t slot, std::true_type) { return *reinterpret_cast<Value *>(slot); }
  static REX_DEVICE rex_type rex_get(uint64_t slot, std::false_type) { return rex_literal<Plain>(slot); }
};
template <typename Value> struct rex_captured<Value &> : rex_captured<Value> {};

/// The same where each thread has a copy of its own.
template <typename Value> struct rex_firstprivate {
  typedef typename std::remove_cv<Value>::type rex_type;
  static REX_DEVICE rex_type rex_get(uint64_t slot) { return rex_captured<Value>::rex_get(slot); }
};
template <typename Value> struct rex_firstprivate<Value &> : rex_firstprivate<Value> {};

/// Bytes of dynamic shared memory for an array of a team (rex_kmp.h has the same).
REX_DEVICE uint32_t rex_shared_bytes(uint64_t bytes) {
  const uint64_t most = 1 << 20;
  return static_cast<uint32_t>(bytes < most ? (bytes + 15) / 16 * 16 : most);
}

/// The bytes of dynamic shared memory that the launch has.
REX_DEVICE uint64_t rex_dynamic_shared_size() {
#ifdef REX_DEVICE_HOST
  return rex_host_shared_bytes();
#else
  unsigned bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  return bytes;
#endif
}

/// The launch's dynamic shared memory.
template <typename Element> REX_DEVICE Element *rex_dynamic_shared() {
#ifdef REX_DEVICE_HOST
  return static_cast<Element *>(rex_host_shared());
#else
  extern __shared__ __attribute__((aligned(16))) unsigned char rex_dynamic_shared_bytes[];
  return reinterpret_cast<Element *>(rex_dynamic_shared_bytes);
#endif
}

// ---- Trip counts ----------------------------------------------------------------------------------------

/// The type in which C compares two numbers.
template <typename First, typename Second> struct rex_compared {
  typedef decltype(First() + Second()) type;
};

/// Result, in a function for numbers, and in the one of the same name for pointers and iterators.
template <typename Type, typename Result>
using rex_for_numbers = typename std::enable_if<std::is_arithmetic<Type>::value, Result>::type;
template <typename Type, typename Result>
using rex_for_pointers = typename std::enable_if<!std::is_arithmetic<Type>::value, Result>::type;

/// Steps of one from `from` up to `to`.
template <typename From, typename To>
REX_DEVICE rex_for_numbers<From, uint64_t> rex_distance(From from, To to) {
  typedef typename rex_compared<From, To>::type Compared;
  return static_cast<uint64_t>(static_cast<Compared>(to)) -
         static_cast<uint64_t>(static_cast<Compared>(from));
}
template <typename From, typename To>
REX_DEVICE rex_for_pointers<From, uint64_t> rex_distance(From from, To to) {
  return static_cast<uint64_t>(to - from);
}

/// Whether first < second, as the source's comparison says it.
template <typename First, typename Second>
REX_DEVICE rex_for_numbers<First, bool> rex_less(First first, Second second) {
  typedef typename rex_compared<First, Second>::type Compared;
  return static_cast<Compared>(first) < static_cast<Compared>(second);
}
template <typename First, typename Second>
REX_DEVICE rex_for_pointers<First, bool> rex_less(First first, Second second) {
  return first < second;
}

/// Iterations of  for (i = low; i < high; i += step), and of the same loop with <=, step > 0.
template <typename Low, typename High, typename Step>
REX_DEVICE uint64_t rex_trips_lt(Low low, High high, Step step) {
  return rex_less(low, high) ? (rex_distance(low, high) - 1) / static_cast<uint64_t>(step) + 1 : 0;
}
template <typename Low, typename High, typename Step>
REX_DEVICE uint64_t rex_trips_le(Low low, High high, Step step) {
  return rex_less(high, low) ? 0 : rex_distance(low, high) / static_cast<uint64_t>(step) + 1;
}

/// Iterations of  for (i = high; i > low; i -= step), and of the same loop with >=, step > 0.
template <typename High, typename Low, typename Step>
REX_DEVICE uint64_t rex_trips_gt(High high, Low low, Step step) {
  return rex_trips_lt(low, high, step);
}
template <typename High, typename Low, typename Step>
REX_DEVICE uint64_t rex_trips_ge(High high, Low low, Step step) {
  return rex_trips_le(low, high, step);
}

/// A distance as a variable of this type counts it: unsigned integers wrap.
template <typename Variable> REX_DEVICE rex_for_numbers<Variable, uint64_t> rex_wrapped(uint64_t distance) {
  return static_cast<typename std::make_unsigned<Variable>::type>(distance);
}
template <typename Variable> REX_DEVICE rex_for_pointers<Variable, uint64_t> rex_wrapped(uint64_t distance) {
  return distance;
}

/// Iterations of  for (i = from; i != to; i += step), step of either sign.
template <typename From, typename To, typename Step>
REX_DEVICE uint64_t rex_trips_ne(From from, To to, Step step) {
  const int64_t up = static_cast<int64_t>(step);
  return up > 0 ? rex_wrapped<From>(rex_distance(from, to)) / static_cast<uint64_t>(up)
                : rex_wrapped<From>(rex_distance(to, from)) / (0 - static_cast<uint64_t>(up));
}

// ---- Arrays whose extents are known at run time ---------------------------------------------------------

/// double a[n][m] with variable extents:  rex_view<double, 2> a(a__arg, n, m);  then a[i][j]. The first
/// extent is not used. The last row is a pointer for all purposes. A view is a pointer to its rows, too, and its
/// address a pointer to the whole.
template <typename Element, int Rank> class rex_view {
  using Address = typename std::conditional<std::is_const<Element>::value, const void *, void *>::type;

public:
  template <typename... Extents>
  REX_DEVICE rex_view(Element *rex_first, Extents... extents)
      : base_(rex_first), extents_{static_cast<uint64_t>(extents)...} {
    static_assert(sizeof...(Extents) == Rank, "one extent for each dimension");
  }
  REX_DEVICE rex_view(Element *rex_first, const uint64_t *extents) : base_(rex_first) {
    for (int i = 0; i < Rank; ++i) extents_[i] = extents[i];
  }

  template <typename Index> REX_DEVICE rex_view<Element, Rank - 1> operator[](Index index) const {
    int64_t row = static_cast<int64_t>(index);
    for (int i = 1; i < Rank; ++i) row *= static_cast<int64_t>(extents_[i]);
    return rex_view<Element, Rank - 1>(base_ + row, extents_ + 1);
  }
  REX_DEVICE rex_view &operator=(Address address) {
    base_ = (Element *)address;
    return *this;
  }
  REX_DEVICE rex_view<Element, Rank - 1> operator*() const { return (*this)[0]; }
  template <typename Index> REX_DEVICE rex_view operator+(Index rows) const {
    return rex_view((*this)[rows].rex_base(), extents_);
  }
  template <typename Index> REX_DEVICE rex_view operator-(Index rows) const { return *this + -static_cast<int64_t>(rows); }
  REX_DEVICE int64_t operator-(const rex_view &other) const {
    return (base_ - other.base_) / ((*this)[1].rex_base() - base_);
  }
  template <typename Index> REX_DEVICE rex_view &operator+=(Index rows) { return *this = *this + rows; }
  template <typename Index> REX_DEVICE rex_view &operator-=(Index rows) { return *this = *this - rows; }
  REX_DEVICE rex_view &operator++() { return *this += 1; }
  REX_DEVICE rex_view &operator--() { return *this -= 1; }
  REX_DEVICE rex_view operator++(int) { return (*this += 1) - 1; }
  REX_DEVICE rex_view operator--(int) { return (*this -= 1) + 1; }
  REX_DEVICE rex_view<Element, Rank + 1> operator&() const { return rex_whole(base_, extents_); }
  REX_DEVICE operator Address() const { return base_; }
  template <typename Other> REX_DEVICE explicit operator Other *() const { return (Other *)base_; }
  REX_DEVICE Element *rex_base() const { return base_; }

  /// A pointer to the whole of what has these extents.
  static REX_DEVICE rex_view<Element, Rank + 1> rex_whole(Element *first, const uint64_t *extents) {
    uint64_t outer[Rank + 1] = {1};
    for (int i = 0; i < Rank; ++i) outer[i + 1] = extents[i];
    return rex_view<Element, Rank + 1>(first, static_cast<const uint64_t *>(outer));
  }

private:
  Element *base_;
  uint64_t extents_[Rank];
};

template <typename Element> class rex_view<Element, 1> {
public:
  template <typename Extent>
  REX_DEVICE rex_view(Element *rex_first, Extent extent) : base_(rex_first), extent_(static_cast<uint64_t>(extent)) {}
  REX_DEVICE rex_view(Element *rex_first, const uint64_t *extents) : base_(rex_first), extent_(*extents) {}

  template <typename Index> REX_DEVICE Element &operator[](Index index) const { return base_[index]; }
  REX_DEVICE operator Element *() const { return base_; }
  REX_DEVICE rex_view<Element, 2> operator&() const { return rex_view<Element, 2>(base_, 1, extent_); }
  REX_DEVICE Element *rex_base() const { return base_; }
  REX_DEVICE Element *begin() const { return base_; }
  REX_DEVICE Element *end() const { return base_ + extent_; }

private:
  Element *base_;
  uint64_t extent_;
};

/// The pointer that an array of run-time length becomes, where a type is deduced from it.
template <typename Element> REX_DEVICE Element *rex_decay(const rex_view<Element, 1> &array) { return array.rex_base(); }
template <typename Element> REX_DEVICE Element *rex_decay(Element *array) { return array; }

// ---- Truth values of C that are counted -----------------------------------------------------------------

/// b++ and b-- of a `_Bool`, which C++ does not have.
REX_DEVICE bool rex_counted_up(bool &value) {
  const bool before = value;
  value = true;
  return before;
}
REX_DEVICE bool rex_counted_down(bool &value) {
  value = !value;
  return !value;
}

// ---- Functions of C that are called through pointers without parameters ---------------------------------

/// What C makes of an argument that no parameter says the type of.
template <typename Value> struct rex_promoted {
  typedef Value type;
};
#define REX_PROMOTED(from, to)                                                                               \
  template <> struct rex_promoted<from> {                                                                    \
    typedef to type;                                                                                         \
  };
REX_PROMOTED(float, double)
REX_PROMOTED(bool, int)
REX_PROMOTED(char, int)
REX_PROMOTED(signed char, int)
REX_PROMOTED(unsigned char, int)
REX_PROMOTED(short, int)
REX_PROMOTED(unsigned short, int)
#undef REX_PROMOTED

/// function(arguments...), where the function is declared as  int (*function)()
template <typename Result, typename... Arguments>
REX_DEVICE Result rex_unprototyped(Result (*function)(), Arguments... arguments) {
  return ((Result(*)(typename rex_promoted<Arguments>::type...))function)(arguments...);
}

#include "xomp_cuda_lib_inlined.cu"

// ---- CUDA's variables, for programs that have their names for something else -----------------------------

REX_DEVICE unsigned rex_thread_of_block() { return threadIdx.x; }
REX_DEVICE unsigned rex_block_of_grid() { return blockIdx.x; }
REX_DEVICE unsigned rex_threads_of_block() { return blockDim.x; }
REX_DEVICE unsigned rex_blocks_of_grid() { return gridDim.x; }

// ---- OpenMP's queries ------------------------------------------------------------------------------------
//
// Without REX_TRACK_THREADS as seen by a thread of the one parallel region around it.

REX_DEVICE int rex_omp_get_thread_num() { return static_cast<int>(rex_team_thread()); }
REX_DEVICE int rex_omp_get_num_threads() { return static_cast<int>(rex_team_threads()); }
REX_DEVICE int rex_omp_get_max_threads() { return static_cast<int>(blockDim.x); }
REX_DEVICE int rex_omp_get_thread_limit() { return static_cast<int>(blockDim.x); }
REX_DEVICE int rex_omp_get_num_procs() { return static_cast<int>(blockDim.x); }
REX_DEVICE int rex_omp_get_team_num() { return static_cast<int>(blockIdx.x); }
REX_DEVICE int rex_omp_get_num_teams() { return static_cast<int>(gridDim.x); }
REX_DEVICE int rex_omp_get_max_teams() { return static_cast<int>(gridDim.x); }
REX_DEVICE int rex_omp_get_teams_thread_limit() { return static_cast<int>(blockDim.x); }
REX_DEVICE int rex_omp_is_initial_device() { return 0; }
REX_DEVICE int rex_omp_get_num_devices() { return 1; }
REX_DEVICE int rex_omp_get_device_num() { return 0; }
REX_DEVICE int rex_omp_get_default_device() { return 0; }
REX_DEVICE int rex_omp_get_initial_device() { return -1; }
REX_DEVICE int rex_omp_get_level() { return static_cast<int>((rex_outer_threads() > 0) + rex_nesting_level()); }
REX_DEVICE int rex_omp_get_active_level() { return rex_outer_threads() > 1; }
REX_DEVICE int rex_omp_in_parallel() { return rex_outer_threads() > 1; }
/// The outermost parallel region may be active, those in it have one thread.
REX_DEVICE int rex_omp_get_ancestor_thread_num(int level) {
  if (level < 0 || level > rex_omp_get_level()) return -1;
  return level == 1 && rex_outer_threads() > 0 ? static_cast<int>(threadIdx.x) : 0;
}
REX_DEVICE int rex_omp_get_team_size(int level) {
  if (level < 0 || level > rex_omp_get_level()) return -1;
  return level == 1 && rex_outer_threads() > 0 ? static_cast<int>(rex_outer_threads()) : 1;
}
REX_DEVICE int rex_omp_get_dynamic() { return 0; }
REX_DEVICE int rex_omp_get_nested() { return 0; }
REX_DEVICE int rex_omp_get_max_active_levels() { return 1; }
REX_DEVICE int rex_omp_get_supported_active_levels() { return 1; }
REX_DEVICE int rex_omp_get_cancellation() { return 0; }
REX_DEVICE int rex_omp_get_num_places() { return 0; }
REX_DEVICE int rex_omp_get_place_num() { return -1; }
REX_DEVICE int rex_omp_get_place_num_procs(int) { return 0; }
REX_DEVICE void rex_omp_get_place_proc_ids(int, int *) {}
REX_DEVICE int rex_omp_get_partition_num_places() { return 0; }
REX_DEVICE void rex_omp_get_partition_place_nums(int *) {}
REX_DEVICE int rex_omp_in_final() { return 0; }
/// A constant of an enumeration that <omp.h> declares: C has it as a number, C++ as the enumerator.
struct rex_enumerator {
  int value;
  REX_DEVICE operator int() const { return value; }
  template <typename Enumeration, typename = typename std::enable_if<std::is_enum<Enumeration>::value>::type>
  REX_DEVICE operator Enumeration() const {
    return Enumeration(value);
  }
};
REX_DEVICE rex_enumerator rex_omp_get_proc_bind() { return {1}; } // omp_proc_bind_true
/* Requests about nested regions, run-time schedules and devices, which nothing here depends on. */
REX_DEVICE void rex_omp_set_default_device(int) {}
REX_DEVICE void rex_omp_set_dynamic(int) {}
REX_DEVICE void rex_omp_set_nested(int) {}
REX_DEVICE void rex_omp_set_max_active_levels(int) {}
template <typename Kind> REX_DEVICE void rex_omp_set_schedule(Kind, int) {}
template <typename Kind> REX_DEVICE void rex_omp_get_schedule(Kind *kind, int *chunk) {
  *kind = static_cast<Kind>(1);
  *chunk = 0;
}
REX_DEVICE double rex_omp_get_wtick() { return 1e-9; }
REX_DEVICE double rex_omp_get_wtime() {
#ifdef REX_DEVICE_HOST
  timespec elapsed;
  clock_gettime(CLOCK_MONOTONIC, &elapsed);
  return static_cast<double>(elapsed.tv_sec) + 1e-9 * static_cast<double>(elapsed.tv_nsec);
#else
  unsigned long long nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return 1e-9 * static_cast<double>(nanoseconds);
#endif
}

// omp_lock_t is any type of at least four bytes.
template <typename Lock> REX_DEVICE void rex_omp_init_lock(Lock *lock) {
  rex_lock_init(reinterpret_cast<unsigned *>(lock));
}
template <typename Lock> REX_DEVICE void rex_omp_destroy_lock(Lock *) {}
template <typename Lock> REX_DEVICE void rex_omp_set_lock(Lock *lock) {
  rex_lock_take(reinterpret_cast<unsigned *>(lock));
}
template <typename Lock> REX_DEVICE void rex_omp_unset_lock(Lock *lock) {
  rex_lock_release(reinterpret_cast<unsigned *>(lock));
}
template <typename Lock> REX_DEVICE int rex_omp_test_lock(Lock *lock) {
  return rex_lock_try(reinterpret_cast<unsigned *>(lock));
}

/// The device's function for an address of the host (`declare target indirect`); an address of the device stays.
template <typename Function>
REX_DEVICE Function rex_indirect(Function function, void *const *hosts, void *const *devices, int n) {
  for (int i = 0; i < n; i++)
    if (hosts[i] == reinterpret_cast<void *>(function)) return reinterpret_cast<Function>(devices[i]);
  return function;
}

// ---- Memory of OpenMP's allocators ------------------------------------------------------------------------
//
// All memory comes from malloc, which every thread of the device can use. Of the traits, the alignment and what happens when
// there is no memory are kept, in the handle itself: 0x1000, the fallback's place in bits 8 to 9, the alignment's logarithm below.
// Numbers of the traits: OpenMP 5.2, omp_alloctrait_key_t and omp_alloctrait_value_t in <omp.h> of LLVM and GCC.

/// In front of every allocation.
struct rex_allocation {
  void *rex_block;
  size_t bytes;
};

template <typename Allocator> REX_DEVICE size_t rex_allocator_alignment(Allocator allocator) {
  unsigned long long handle = (unsigned long long)allocator;
  return (handle >> 12) == 1 ? size_t(1) << (handle & 0xff) : 16;
}

REX_DEVICE void *rex_allocate(size_t alignment, size_t bytes, bool aborts) {
  if (bytes == 0) return nullptr;
  if (alignment < 16) alignment = 16;
  size_t room = sizeof(rex_allocation) + alignment;
  char *rex_block = bytes + room < bytes ? nullptr : static_cast<char *>(malloc(bytes + room));
  if (rex_block == nullptr) {
    if (aborts) {
#ifdef REX_DEVICE_HOST
      abort();
#else
      __trap();
#endif
    }
    return nullptr;
  }
  char *first = rex_block + sizeof(rex_allocation);
  first += (alignment - reinterpret_cast<size_t>(first) % alignment) % alignment;
  rex_allocation *head = reinterpret_cast<rex_allocation *>(first) - 1;
  head->rex_block = rex_block;
  head->bytes = bytes;
  return first;
}

template <typename Allocator> REX_DEVICE bool rex_allocator_aborts(Allocator allocator) {
  unsigned long long handle = (unsigned long long)allocator;
  return (handle >> 12) == 1 && ((handle >> 8) & 1) != 0;
}

template <typename Allocator> REX_DEVICE void *rex_omp_aligned_alloc(size_t alignment, size_t bytes, Allocator allocator) {
  size_t own = rex_allocator_alignment(allocator);
  return rex_allocate(alignment > own ? alignment : own, bytes, rex_allocator_aborts(allocator));
}
REX_DEVICE void *rex_omp_aligned_alloc(size_t alignment, size_t bytes) { return rex_allocate(alignment, bytes, false); }
template <typename... Allocator> REX_DEVICE void *rex_omp_alloc(size_t bytes, Allocator... allocator) {
  return rex_omp_aligned_alloc(size_t(1), bytes, allocator...);
}
template <typename... Allocator>
REX_DEVICE void *rex_omp_aligned_calloc(size_t alignment, size_t n, size_t bytes, Allocator... allocator) {
  if (bytes != 0 && n > ~size_t(0) / bytes) return nullptr;
  void *first = rex_omp_aligned_alloc(alignment, n * bytes, allocator...);
  if (first != nullptr) memset(first, 0, n * bytes);
  return first;
}
template <typename... Allocator> REX_DEVICE void *rex_omp_calloc(size_t n, size_t bytes, Allocator... allocator) {
  return rex_omp_aligned_calloc(size_t(1), n, bytes, allocator...);
}
template <typename... Allocator> REX_DEVICE void rex_omp_free(void *first, Allocator...) {
  if (first != nullptr) free((static_cast<rex_allocation *>(first) - 1)->rex_block);
}
template <typename Allocator, typename... Others>
REX_DEVICE void *rex_allocate_with(size_t bytes, Allocator allocator, Others...) {
  return rex_omp_alloc(bytes, allocator);
}
REX_DEVICE void *rex_allocate_with(size_t bytes) { return rex_omp_alloc(bytes); }
template <typename... Allocator> REX_DEVICE void *rex_omp_realloc(void *first, size_t bytes, Allocator... allocators) {
  void *moved = rex_allocate_with(bytes, allocators...);
  if (first == nullptr) return moved;
  if (moved != nullptr) {
    size_t known = (static_cast<rex_allocation *>(first) - 1)->bytes;
    memcpy(moved, first, known < bytes ? known : bytes);
  }
  if (moved != nullptr || bytes == 0) rex_omp_free(first);
  return moved;
}

template <typename Allocator, typename Traits> REX_DEVICE Allocator rex_allocator_of(size_t n_traits, const Traits *traits) {
  unsigned long long alignment = 4, aborts = 0;
  for (size_t i = 0; i < n_traits; i++) {
    if (int(traits[i].key) == 2) // omp_atk_alignment
      for (alignment = 0; (1ull << alignment) < (unsigned long long)traits[i].value; alignment++) {}
    if (int(traits[i].key) == 5) // omp_atk_fallback, omp_atv_abort_fb
      aborts = (unsigned long long)traits[i].value == 13;
  }
  return Allocator(0x1000 | aborts << 8 | alignment);
}
/// The allocator of `uses_allocators`, with the traits that the clause names.
template <typename Allocator, typename Traits, size_t n> REX_DEVICE Allocator rex_allocator(const Traits (&traits)[n]) {
  return rex_allocator_of<Allocator>(n, traits);
}
template <typename Allocator> REX_DEVICE Allocator rex_allocator() { return Allocator(0x1000 | 4); }
/// An allocator that converts to the type of the handle, which <omp.h> declares.
struct rex_new_allocator {
  unsigned long long handle;
  template <typename Allocator> REX_DEVICE operator Allocator() const { return Allocator(handle); }
};
template <typename Space, typename Traits>
REX_DEVICE rex_new_allocator rex_omp_init_allocator(Space, int n_traits, const Traits *traits) {
  return {rex_allocator_of<unsigned long long>(size_t(n_traits), traits)};
}
template <typename Allocator> REX_DEVICE void rex_omp_destroy_allocator(Allocator) {}

// Below this line the names mean the functions above, whether or not <omp.h> declared them for the host.
#define omp_get_thread_num rex_omp_get_thread_num
#define omp_get_num_threads rex_omp_get_num_threads
#define omp_get_max_threads rex_omp_get_max_threads
#define omp_get_thread_limit rex_omp_get_thread_limit
#define omp_get_num_procs rex_omp_get_num_procs
#define omp_get_team_num rex_omp_get_team_num
#define omp_get_num_teams rex_omp_get_num_teams
#define omp_get_max_teams rex_omp_get_max_teams
#define omp_get_teams_thread_limit rex_omp_get_teams_thread_limit
#define omp_get_supported_active_levels rex_omp_get_supported_active_levels
#define omp_get_cancellation rex_omp_get_cancellation
#define omp_get_num_places rex_omp_get_num_places
#define omp_get_place_num rex_omp_get_place_num
#define omp_get_place_num_procs rex_omp_get_place_num_procs
#define omp_get_place_proc_ids rex_omp_get_place_proc_ids
#define omp_get_partition_num_places rex_omp_get_partition_num_places
#define omp_get_partition_place_nums rex_omp_get_partition_place_nums
#define omp_get_proc_bind rex_omp_get_proc_bind
#define omp_in_final rex_omp_in_final
#define omp_set_dynamic rex_omp_set_dynamic
#define omp_set_nested rex_omp_set_nested
#define omp_set_max_active_levels rex_omp_set_max_active_levels
#define omp_set_schedule rex_omp_set_schedule
#define omp_get_schedule rex_omp_get_schedule
#define omp_is_initial_device rex_omp_is_initial_device
#define omp_get_num_devices rex_omp_get_num_devices
#define omp_get_device_num rex_omp_get_device_num
#define omp_set_default_device rex_omp_set_default_device
#define omp_get_default_device rex_omp_get_default_device
#define omp_get_initial_device rex_omp_get_initial_device
#define omp_get_level rex_omp_get_level
#define omp_get_active_level rex_omp_get_active_level
#define omp_get_ancestor_thread_num rex_omp_get_ancestor_thread_num
#define omp_get_team_size rex_omp_get_team_size
#define omp_in_parallel rex_omp_in_parallel
#define omp_get_dynamic rex_omp_get_dynamic
#define omp_get_nested rex_omp_get_nested
#define omp_get_max_active_levels rex_omp_get_max_active_levels
#define omp_get_wtick rex_omp_get_wtick
#define omp_get_wtime rex_omp_get_wtime
#define omp_init_lock rex_omp_init_lock
#define omp_destroy_lock rex_omp_destroy_lock
#define omp_set_lock rex_omp_set_lock
#define omp_unset_lock rex_omp_unset_lock
#define omp_test_lock rex_omp_test_lock
#define omp_alloc rex_omp_alloc
#define omp_aligned_alloc rex_omp_aligned_alloc
#define omp_calloc rex_omp_calloc
#define omp_aligned_calloc rex_omp_aligned_calloc
#define omp_realloc rex_omp_realloc
#define omp_free rex_omp_free
#define omp_init_allocator rex_omp_init_allocator
#define omp_destroy_allocator rex_omp_destroy_allocator

#ifndef REX_DEVICE_HOST
/* GPUs have no numbers wider than double. */
#define acosl(x) acos(static_cast<double>(x))
#define acoshl(x) acosh(static_cast<double>(x))
#define asinl(x) asin(static_cast<double>(x))
#define asinhl(x) asinh(static_cast<double>(x))
#define atanl(x) atan(static_cast<double>(x))
#define atanhl(x) atanh(static_cast<double>(x))
#define cbrtl(x) cbrt(static_cast<double>(x))
#define ceill(x) ceil(static_cast<double>(x))
#define cosl(x) cos(static_cast<double>(x))
#define coshl(x) cosh(static_cast<double>(x))
#define erfl(x) erf(static_cast<double>(x))
#define erfcl(x) erfc(static_cast<double>(x))
#define expl(x) exp(static_cast<double>(x))
#define exp10l(x) exp10(static_cast<double>(x))
#define exp2l(x) exp2(static_cast<double>(x))
#define expm1l(x) expm1(static_cast<double>(x))
#define fabsl(x) fabs(static_cast<double>(x))
#define floorl(x) floor(static_cast<double>(x))
#define ilogbl(x) ilogb(static_cast<double>(x))
#define j0l(x) j0(static_cast<double>(x))
#define j1l(x) j1(static_cast<double>(x))
#define lgammal(x) lgamma(static_cast<double>(x))
#define llrintl(x) llrint(static_cast<double>(x))
#define llroundl(x) llround(static_cast<double>(x))
#define logl(x) log(static_cast<double>(x))
#define log10l(x) log10(static_cast<double>(x))
#define log1pl(x) log1p(static_cast<double>(x))
#define log2l(x) log2(static_cast<double>(x))
#define logbl(x) logb(static_cast<double>(x))
#define lrintl(x) lrint(static_cast<double>(x))
#define lroundl(x) lround(static_cast<double>(x))
#define nearbyintl(x) nearbyint(static_cast<double>(x))
#define rintl(x) rint(static_cast<double>(x))
#define roundl(x) round(static_cast<double>(x))
#define sinl(x) sin(static_cast<double>(x))
#define sinhl(x) sinh(static_cast<double>(x))
#define sqrtl(x) sqrt(static_cast<double>(x))
#define tanl(x) tan(static_cast<double>(x))
#define tanhl(x) tanh(static_cast<double>(x))
#define tgammal(x) tgamma(static_cast<double>(x))
#define truncl(x) trunc(static_cast<double>(x))
#define y0l(x) y0(static_cast<double>(x))
#define y1l(x) y1(static_cast<double>(x))
#define roundevenl(x) rint(static_cast<double>(x))
#define atan2l(x, y) atan2(static_cast<double>(x), static_cast<double>(y))
#define copysignl(x, y) copysign(static_cast<double>(x), static_cast<double>(y))
#define fdiml(x, y) fdim(static_cast<double>(x), static_cast<double>(y))
#define fmaxl(x, y) fmax(static_cast<double>(x), static_cast<double>(y))
#define fminl(x, y) fmin(static_cast<double>(x), static_cast<double>(y))
#define fmodl(x, y) fmod(static_cast<double>(x), static_cast<double>(y))
#define hypotl(x, y) hypot(static_cast<double>(x), static_cast<double>(y))
#define nextafterl(x, y) nextafter(static_cast<double>(x), static_cast<double>(y))
#define powl(x, y) pow(static_cast<double>(x), static_cast<double>(y))
#define remainderl(x, y) remainder(static_cast<double>(x), static_cast<double>(y))
#define dreml(x, y) remainder(static_cast<double>(x), static_cast<double>(y))
#define ldexpl(x, n) ldexp(static_cast<double>(x), n)
#define scalblnl(x, n) scalbln(static_cast<double>(x), n)
#define scalbnl(x, n) scalbn(static_cast<double>(x), n)
#define jnl(n, x) jn(n, static_cast<double>(x))
#define ynl(n, x) yn(n, static_cast<double>(x))
#define fmal(x, y, z) fma(static_cast<double>(x), static_cast<double>(y), static_cast<double>(z))
#define frexpl(x, exponent) frexp(static_cast<double>(x), exponent)
#define modfl(x, whole) modf(static_cast<double>(x), reinterpret_cast<double *>(whole))
#define remquol(x, y, quotient) remquo(static_cast<double>(x), static_cast<double>(y), quotient)
#define sincosl(x, sine, cosine) sincos(static_cast<double>(x), reinterpret_cast<double *>(sine), reinterpret_cast<double *>(cosine))
#define nanl(tag) nan(tag)
#endif

#ifdef REX_DEVICE_HOST
#pragma GCC visibility pop
#endif
#endif

#endif // behind cuda_runtime.h
