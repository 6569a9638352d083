// xomp_cuda_lib_inlined.cu: reductions, atomic updates and locks for kernels. Included by rex_nvidia.h.

// ---- Locks ----------------------------------------------------------------------------------------------

REX_DEVICE void rex_lock_init(unsigned *lock) { atomicExch(lock, 0u); }

REX_DEVICE bool rex_lock_try(unsigned *lock) {
  if (*const_cast<volatile unsigned *>(lock) != 0u || atomicCAS(lock, 0u, 1u) != 0u) return false;
  __threadfence();
  return true;
}

/// Lets others go on before a thread looks again at what it waits for; longer each time.
class rex_patience {
public:
  REX_DEVICE rex_patience() : nanoseconds_(32) {}
  REX_DEVICE void rex_wait() {
#ifdef REX_DEVICE_HOST
    rex_host_pause();
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
    asm volatile("nanosleep.u32 %0;" : : "r"(nanoseconds_));
#endif
    if (nanoseconds_ < 2048) nanoseconds_ *= 2;
  }

private:
  unsigned nanoseconds_;
};

/// Takes the lock.
REX_DEVICE void rex_lock_take(unsigned *lock) {
  for (rex_patience patience; !rex_lock_try(lock);) patience.rex_wait();
}

REX_DEVICE void rex_lock_release(unsigned *lock) {
  __threadfence();
  atomicExch(lock, 0u);
}

/// The word that another thread wrote behind a fence, and then what it wrote before.
REX_DEVICE unsigned rex_acquire(const unsigned *word) {
#ifdef REX_DEVICE_HOST
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  unsigned value;
  asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
#else
  const unsigned value = *const_cast<const volatile unsigned *>(word);
  __threadfence();
  return value;
#endif
}

/// How far a static variable of a function is, which the first thread that comes constructs. Behind rex_begin it is there.
struct rex_progress {
  unsigned state; // 0: there is nothing, 1: a thread is at it, 2: the object is there
  template <typename Construct> REX_DEVICE void rex_begin(void *place, Construct construct) {
    // The threads of a warp that wait must not keep the one that constructs from going on.
    for (rex_patience patience; rex_acquire(&state) != 2u;) {
      if (atomicCAS(&state, 0u, 1u) == 0u) {
        construct(place);
        __threadfence();
        atomicExch(&state, 2u);
      } else {
        patience.rex_wait();
      }
    }
  }
  /// The same for what the host may write: bytes other than zero are an object that it wrote there.
  template <typename Construct> REX_DEVICE void rex_begin(void *place, size_t size, Construct construct) {
    rex_begin(place, [&](void *at) {
      const unsigned char *const bytes = static_cast<const unsigned char *>(at);
      for (size_t i = 0; i < size; ++i)
        if (bytes[i] != 0) return;
      construct(at);
    });
  }
};

/// Room for such a variable that the runtime does not look for.
template <typename Value> struct __attribute__((__visibility__("default"))) rex_once {
  alignas(Value) unsigned char bytes[sizeof(Value)];
  rex_progress progress;
  REX_DEVICE Value &rex_object() { return *reinterpret_cast<Value *>(bytes); }
  template <typename Construct> REX_DEVICE void rex_begin(Construct construct) { progress.rex_begin(bytes, construct); }
};

/// A critical section of the threads of a warp that come to it together: the first of them takes the lock for all, they
/// enter one after the other.
class rex_critical {
public:
#ifdef REX_DEVICE_HOST
  explicit rex_critical(unsigned *lock) : lock_(lock), waiting_(1) { rex_lock_take(lock_); }
  bool rex_is_my_turn() const { return true; }
#else
  explicit REX_DEVICE rex_critical(unsigned *lock) : lock_(lock), together_(__activemask()), waiting_(together_) {
    if (rex_is_my_turn()) rex_lock_take(lock_);
    __syncwarp(together_);
  }
  /// Whether this is the first of those that have not been inside.
  REX_DEVICE bool rex_is_my_turn() const { return (waiting_ & (0u - waiting_)) == 1u << threadIdx.x % 32; }
#endif
  rex_critical(const rex_critical &) = delete;

  REX_DEVICE bool rex_is_open() const { return waiting_ != 0; }
  REX_DEVICE void rex_next() {
    const bool leaves_last = (waiting_ & (waiting_ - 1)) == 0 && rex_is_my_turn();
    waiting_ &= waiting_ - 1;
#ifndef REX_DEVICE_HOST
    __syncwarp(together_);
#endif
    if (leaves_last) rex_lock_release(lock_);
  }

private:
  unsigned *lock_;
#ifndef REX_DEVICE_HOST
  unsigned together_;
#endif
  unsigned waiting_;
};

/// REX_CRITICAL_LOCK(name) at file scope, then  REX_CRITICAL(name) { statements }.
#define REX_CRITICAL_LOCK(name) static __device__ unsigned name
#define REX_CRITICAL(name)                                                                                   \
  for (rex_critical rex_section(&name); rex_section.rex_is_open(); rex_section.rex_next())                           \
    if (!rex_section.rex_is_my_turn()) {                                                                         \
    } else

// ---- Atomic updates -------------------------------------------------------------------------------------

/// The smallest word that the hardware compares and swaps.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
typedef unsigned rex_least_word;
#else
typedef unsigned short rex_least_word;
#endif

/// How an object can be updated atomically: as one word of its size, inside the smallest word, or only
/// under a lock (wider types, and those that may straddle two words).
enum rex_width { rex_width_word, rex_width_part, rex_width_lock };
template <typename Value> struct rex_width_of {
  static constexpr bool is_aligned = alignof(Value) >= sizeof(Value);
  static constexpr bool is_word = is_aligned && (sizeof(Value) == 4 || sizeof(Value) == 8);
  static constexpr bool is_part = is_aligned && (sizeof(Value) == 1 || sizeof(Value) == 2);
  static constexpr rex_width value = is_word ? rex_width_word : is_part ? rex_width_part : rex_width_lock;
};

/// What an atomic update saw and left.
template <typename Value> struct rex_update {
  Value before, after;
};

template <typename Value> REX_DEVICE Value rex_from_bits(const void *bits) {
  Value value;
  __builtin_memcpy(&value, bits, sizeof value);
  return value;
}

template <typename Value, rex_width = rex_width_of<Value>::value> struct rex_atomic_access;

template <typename Value> struct rex_atomic_access<Value, rex_width_word> {
  typedef typename std::conditional<sizeof(Value) == 4, unsigned, unsigned long long>::type Word;
  typedef typename std::conditional<sizeof(Value) == 4, int, long long>::type SignedWord;
  typedef typename std::conditional<std::is_signed<Value>::value, SignedWord, Word>::type RangeWord;

  template <typename Function> static REX_DEVICE rex_update<Value> apply(Value *address, Function function) {
    Word *word = reinterpret_cast<Word *>(address);
    Word seen = *const_cast<volatile Word *>(word);
    for (;;) {
      const Value before = rex_from_bits<Value>(&seen);
      const Value after = function(before);
      Word wanted;
      __builtin_memcpy(&wanted, &after, sizeof wanted);
      const Word found = atomicCAS(word, seen, wanted);
      if (found == seen) return {before, after};
      seen = found;
    }
  }
  static REX_DEVICE Value read(const Value *address) {
    const Word word = *reinterpret_cast<const volatile Word *>(address);
    return rex_from_bits<Value>(&word);
  }
  static REX_DEVICE Value exchange(Value *address, Value value) {
    Word wanted;
    __builtin_memcpy(&wanted, &value, sizeof wanted);
    const Word before = atomicExch(reinterpret_cast<Word *>(address), wanted);
    return rex_from_bits<Value>(&before);
  }
};

template <typename Value> struct rex_atomic_access<Value, rex_width_part> {
  typedef typename std::conditional<sizeof(Value) == 1, uint8_t, uint16_t>::type Part;

  template <typename Function> static REX_DEVICE rex_update<Value> apply(Value *address, Function function) {
    const uintptr_t place = reinterpret_cast<uintptr_t>(address);
    const uintptr_t offset = place % sizeof(rex_least_word);
    rex_least_word *word = reinterpret_cast<rex_least_word *>(place - offset);
    const unsigned shift = static_cast<unsigned>(offset) * 8;
    const unsigned mask = static_cast<unsigned>(static_cast<Part>(~Part(0))) << shift;
    rex_least_word seen = *const_cast<volatile rex_least_word *>(word);
    for (;;) {
      const Part part = static_cast<Part>(seen >> shift);
      const Value before = rex_from_bits<Value>(&part);
      const Value after = function(before);
      Part wanted;
      __builtin_memcpy(&wanted, &after, sizeof wanted);
      const rex_least_word found = atomicCAS(
          word, seen, static_cast<rex_least_word>((seen & ~mask) | static_cast<unsigned>(wanted) << shift));
      if (found == seen) return {before, after};
      seen = found;
    }
  }
  static REX_DEVICE Value read(const Value *address) {
    const Part part = *reinterpret_cast<const volatile Part *>(address);
    return rex_from_bits<Value>(&part);
  }
  static REX_DEVICE Value exchange(Value *address, Value value) {
    return apply(address, [value](Value) { return value; }).before;
  }
};

/// The lock of every type that is too wide for the hardware.
REX_DEVICE unsigned *rex_wide_lock() {
  static __device__ unsigned lock;
  return &lock;
}

template <typename Value> struct rex_atomic_access<Value, rex_width_lock> {
  template <typename Function> static REX_DEVICE rex_update<Value> apply(Value *address, Function function) {
    rex_update<Value> update = {*address, *address};
    unsigned *lock = rex_wide_lock();
    REX_CRITICAL(*lock) {
      update.before = *address;
      update.after = function(update.before);
      *address = update.after;
    }
    return update;
  }
  static REX_DEVICE Value read(const Value *address) {
    return apply(const_cast<Value *>(address), [](Value value) { return value; }).before;
  }
  static REX_DEVICE Value exchange(Value *address, Value value) {
    return apply(address, [value](Value) { return value; }).before;
  }
};

/// The position of an iteration of collapsed loops, with 32-bit division where there are few iterations: all of them see the same
/// `trips`, so compilers ask once for all turns.
REX_DEVICE uint64_t rex_quotient(uint64_t iteration, uint64_t inner, uint64_t trips) {
  return trips >> 32 ? iteration / inner : (uint32_t)iteration / (uint32_t)inner;
}
REX_DEVICE uint64_t rex_remainder(uint64_t iteration, uint64_t outer, uint64_t trips) {
  return trips >> 32 ? iteration % outer : (uint32_t)iteration % (uint32_t)outer;
}

/// The last iteration for which `is_executed` holds; `trips` if there is none.
template <typename Predicate> REX_DEVICE uint64_t rex_last_of(uint64_t trips, Predicate is_executed) {
  for (uint64_t iteration = trips; iteration > 0; --iteration)
    if (is_executed(iteration - 1)) return iteration - 1;
  return trips;
}

/// decltype(rex_value_of(x)) is the type of x without reference and qualifiers.
template <typename Value> REX_DEVICE Value rex_value_of(const volatile Value &);
template <typename Value> REX_DEVICE Value rex_value_of(const Value &);

/// Whether an object is the calling thread's own, in memory that the atomic instructions do not reach.
REX_DEVICE bool rex_is_own(const volatile void *address) {
#if defined(REX_DEVICE_HOST)
  (void)address;
  return false;
#elif defined(__NVCC__)
  return __isLocal(const_cast<const void *>(address));
#else
  return __nvvm_isspacep_local(const_cast<const void *>(address));
#endif
}

/// Before a thread looks at a value that others may change: if it does so again and again, it may wait for them.
REX_DEVICE void rex_look() {
#ifdef REX_DEVICE_HOST
  rex_host_look();
#endif
}

/// *address = function(*address), atomically. `function` may be called several times. Every access is one to memory, so `volatile`
/// asks for nothing more.
template <typename Value, typename Function>
REX_DEVICE rex_update<Value> rex_atomic_apply(Value *address, Function function) {
  rex_look();
  if (!rex_is_own(address)) return rex_atomic_access<Value>::apply(address, function);
  const Value before = *address;
  *address = function(before);
  return {before, *address};
}
template <typename Value, typename Function>
REX_DEVICE rex_update<Value> rex_atomic_apply(volatile Value *address, Function function) {
  return rex_atomic_apply(const_cast<Value *>(address), function);
}
template <typename Value> REX_DEVICE Value rex_atomic_read(const Value *address) {
  rex_look();
  return rex_atomic_access<Value>::read(address);
}
template <typename Value> REX_DEVICE Value rex_atomic_read(const volatile Value *address) {
  return rex_atomic_read(const_cast<const Value *>(address));
}
template <typename Value, typename Operand>
REX_DEVICE Value rex_atomic_exchange(Value *address, Operand operand) {
  rex_look();
  if (!rex_is_own(address)) return rex_atomic_access<Value>::exchange(address, static_cast<Value>(operand));
  const Value before = *address;
  *address = static_cast<Value>(operand);
  return before;
}
template <typename Value, typename Operand>
REX_DEVICE Value rex_atomic_exchange(volatile Value *address, Operand operand) {
  return rex_atomic_exchange(const_cast<Value *>(address), operand);
}
template <typename Value, typename Operand>
REX_DEVICE void rex_atomic_write(Value *address, Operand operand) {
  rex_atomic_exchange(address, operand);
}

// rex_atomic_add(address, operand) and so on: compute in the type that C computes in, convert the result to
// the type of the object, return the old value. Where CUDA has an instruction with that result it is used:
// what it can do depends on the types.

struct rex_any_types {};
struct rex_floating_word : rex_any_types {}; // float or double, and an operand that C converts to that type
struct rex_integer_word : rex_any_types {};  // an integer of the size of a word, and any integer
struct rex_same_word : rex_integer_word {};  // the same, both of one type

template <bool Condition, typename Yes, typename No>
using rex_choose = typename std::conditional<Condition, Yes, No>::type;

template <typename Value, typename Operand> struct rex_types_of {
  static constexpr bool is_same = std::is_same<Value, Operand>::value;
  static constexpr bool is_integer =
      std::is_integral<Value>::value && std::is_integral<Operand>::value && rex_width_of<Value>::is_word;
  static constexpr bool is_floating =
      (std::is_same<Value, float>::value || std::is_same<Value, double>::value) &&
      (is_same || std::is_integral<Operand>::value || std::is_same<Operand, float>::value);
  typedef rex_choose<is_integer, rex_choose<is_same, rex_same_word, rex_integer_word>,
                     rex_choose<is_floating, rex_floating_word, rex_any_types>>
      type;
};

#define REX_ATOMIC(name, result)                                                                             \
  template <typename Value, typename Operand>                                                                \
  REX_DEVICE Value rex_atomic_##name(Value *address, Operand operand, rex_any_types) {                       \
    return rex_atomic_apply(address, [operand](Value value) { return static_cast<Value>(result); }).before;  \
  }                                                                                                          \
  template <typename Value, typename Operand>                                                                \
  REX_DEVICE Value rex_atomic_##name(Value *address, Operand operand) {                                      \
    if (rex_is_own(address)) return rex_atomic_##name(address, operand, rex_any_types());                    \
    return rex_atomic_##name(address, operand, typename rex_types_of<Value, Operand>::type());               \
  }                                                                                                          \
  template <typename Value, typename Operand>                                                                \
  REX_DEVICE Value rex_atomic_##name(volatile Value *address, Operand operand) {                             \
    return rex_atomic_##name(const_cast<Value *>(address), operand);                                         \
  }
// clang-format off
REX_ATOMIC(add, value + operand)
REX_ATOMIC(sub, value - operand)
REX_ATOMIC(mul, value * operand)
REX_ATOMIC(div, value / operand)
REX_ATOMIC(and, value & operand)
REX_ATOMIC(or, value | operand)
REX_ATOMIC(xor, value ^ operand)
REX_ATOMIC(shl, value << operand)
REX_ATOMIC(shr, value >> operand)
REX_ATOMIC(land, value && operand)
REX_ATOMIC(lor, value || operand)
REX_ATOMIC(min, rex_less(operand, value) ? operand : value)
REX_ATOMIC(max, rex_less(value, operand) ? operand : value)
// clang-format on
#undef REX_ATOMIC

#define REX_ATOMIC(name, types, Word, instruction, value)                                                    \
  template <typename Value, typename Operand>                                                                \
  REX_DEVICE Value rex_atomic_##name(Value *address, Operand operand, types) {                               \
    typedef typename rex_atomic_access<Value>::Word Word;                                                    \
    const Word word = static_cast<Word>(operand);                                                            \
    return static_cast<Value>(instruction(reinterpret_cast<Word *>(address), value));                        \
  }
REX_ATOMIC(add, rex_integer_word, Word, atomicAdd, word)
REX_ATOMIC(sub, rex_integer_word, Word, atomicAdd, 0 - word)
REX_ATOMIC(and, rex_integer_word, Word, atomicAnd, word)
REX_ATOMIC(or, rex_integer_word, Word, atomicOr, word)
REX_ATOMIC(xor, rex_integer_word, Word, atomicXor, word)
REX_ATOMIC(min, rex_same_word, RangeWord, atomicMin, word)
REX_ATOMIC(max, rex_same_word, RangeWord, atomicMax, word)
#undef REX_ATOMIC

template <typename Value, typename Operand>
REX_DEVICE Value rex_atomic_add(Value *address, Operand operand, rex_floating_word) {
  return atomicAdd(address, static_cast<Value>(operand));
}
template <typename Value, typename Operand>
REX_DEVICE Value rex_atomic_sub(Value *address, Operand operand, rex_floating_word) {
  return atomicAdd(address, -static_cast<Value>(operand));
}

// ---- Reduction operators --------------------------------------------------------------------------------

/// Also true for `_Float16`, which C++ does not count in.
template <typename Value> struct rex_is_floating : std::is_floating_point<Value> {};
#if defined(__FLT16_MAX__) && (defined(__clang__) || !defined(__CUDACC__))
template <> struct rex_is_floating<_Float16> : std::true_type {};
#endif

/// The ends of a type's range; infinite for floating types.
template <typename Value, bool = rex_is_floating<Value>::value> struct rex_range {
  static constexpr bool has_sign = std::is_signed<Value>::value;
  static constexpr Value highest = static_cast<Value>(
      std::is_same<Value, bool>::value ? 1 : ~0ull >> (64 - sizeof(Value) * 8 + (has_sign ? 1 : 0)));
  static constexpr Value lowest = has_sign ? static_cast<Value>(-highest - 1) : static_cast<Value>(0);
};
template <typename Value> struct rex_range<Value, true> {
  static constexpr Value highest = static_cast<Value>(__builtin_huge_val());
  static constexpr Value lowest = static_cast<Value>(-__builtin_huge_val());
};
template <typename Object> struct rex_range<Object *, false> {
  static constexpr uint64_t highest = ~0ull, lowest = 0;
};
#ifdef REX_HAS_FLOAT16_CLASS
template <> struct rex_range<rex_float16, false> {
  static constexpr rex_float16 highest = rex_float16::of_bits(0x7c00);
  static constexpr rex_float16 lowest = rex_float16::of_bits(0xfc00);
};
#endif

/// The first value of an accumulator; that of a class to which no number converts is the class's own.
template <typename Value, typename Number>
REX_DEVICE auto rex_identity(Number number, int) -> decltype(static_cast<Value>(number)) {
  return static_cast<Value>(number);
}
template <typename Value, typename Number>
REX_DEVICE typename std::enable_if<std::is_pointer<Value>::value, Value>::type rex_identity(Number address, int) {
  return reinterpret_cast<Value>(address);
}
template <typename Value, typename Number> REX_DEVICE Value rex_identity(Number, long) { return Value(); }

/// An operator has an identity and combines two partial results. User-declared reductions are structs with
/// the same two functions. A `-` reduction adds.
#define REX_OPERATOR(name, initial, result)                                                                  \
  struct name {                                                                                              \
    template <typename Value> static REX_DEVICE Value identity() { return rex_identity<Value>(initial, 0); } \
    template <typename Value> static REX_DEVICE void combine(Value &out, const Value &in) {                  \
      out = static_cast<Value>(result);                                                                      \
    }                                                                                                        \
  };
// clang-format off
REX_OPERATOR(rex_add, 0, out + in)
REX_OPERATOR(rex_mul, 1, out * in)
REX_OPERATOR(rex_min, rex_range<Value>::highest, in < out ? in : out)
REX_OPERATOR(rex_max, rex_range<Value>::lowest, out < in ? in : out)
REX_OPERATOR(rex_and, ~0ll, out & in)
REX_OPERATOR(rex_or, 0, out | in)
REX_OPERATOR(rex_xor, 0, out ^ in)
REX_OPERATOR(rex_land, 1, out && in)
REX_OPERATOR(rex_lor, 0, out || in)
// clang-format on
#undef REX_OPERATOR

/// Combines `value` into *target, atomically: by an instruction where there is one, in a loop for other types
/// of a word's size, under the lock for the rest. (A loop on the word around a smaller object would reach
/// beyond an object that is mapped alone.)
#define REX_COMBINE(is_word, width)                                                                          \
  template <typename Operation, typename Value>                                                              \
  REX_DEVICE void rex_combine(Operation, Value *target, const Value &value, std::is_word##_type) {           \
    rex_atomic_access<Value, width>::apply(target, [&value](Value combined) {                                \
      Operation::combine(combined, value);                                                                   \
      return combined;                                                                                       \
    });                                                                                                      \
  }
REX_COMBINE(true, rex_width_word)
REX_COMBINE(false, rex_width_lock)
#undef REX_COMBINE

#define REX_COMBINE(name)                                                                                    \
  template <typename Value>                                                                                  \
  REX_DEVICE void rex_combine(rex_##name, Value *target, const Value &value, std::true_type) {               \
    rex_atomic_##name(target, value);                                                                        \
  }
REX_COMBINE(add)
REX_COMBINE(min)
REX_COMBINE(max)
REX_COMBINE(and)
REX_COMBINE(or)
REX_COMBINE(xor)
#undef REX_COMBINE

/// The same. It stands behind its overloads, as the argument of an operation in a namespace does not find them.
template <typename Operation, typename Value> REX_DEVICE void rex_combine(Value *target, const Value &value) {
  rex_combine(Operation(), target, value, std::integral_constant<bool, rex_width_of<Value>::is_word>());
}

#ifdef REX_COMPLEX_OF_C
#include <complex>

// ---- Complex numbers of C -------------------------------------------------------------------------------
//
// Laid out as C's; device code is C++, and nvcc has no _Complex.

// A variable of a hidden type would be hidden itself.
template <typename Real> struct __attribute__((__visibility__("default"))) rex_complex {
  Real re, im;

  rex_complex() = default;
  template <typename Number, typename = typename std::enable_if<std::is_arithmetic<Number>::value>::type>
  constexpr REX_DEVICE rex_complex(Number real) : re(static_cast<Real>(real)), im(0) {}
  constexpr REX_DEVICE rex_complex(Real real, Real imaginary) : re(real), im(imaginary) {}
  template <typename Other>
  constexpr REX_DEVICE rex_complex(const rex_complex<Other> &other)
      : re(static_cast<Real>(other.re)), im(static_cast<Real>(other.im)) {}

  template <typename Number, typename = typename std::enable_if<std::is_arithmetic<Number>::value>::type>
  explicit constexpr REX_DEVICE operator Number() const {
    return std::is_same<Number, bool>::value ? static_cast<Number>(re != 0 || im != 0) : static_cast<Number>(re);
  }
  constexpr REX_DEVICE rex_complex operator+() const { return *this; }
  constexpr REX_DEVICE rex_complex operator-() const { return rex_complex(-re, -im); }
  constexpr REX_DEVICE rex_complex operator~() const { return rex_complex(re, -im); }
  constexpr REX_DEVICE bool operator!() const { return re == 0 && im == 0; }
};

template <typename A, typename B>
constexpr REX_DEVICE auto rex_sum(const rex_complex<A> &a, const rex_complex<B> &b)
    -> rex_complex<decltype(a.re + b.re)> {
  return {a.re + b.re, a.im + b.im};
}
template <typename A, typename B>
constexpr REX_DEVICE auto rex_difference(const rex_complex<A> &a, const rex_complex<B> &b)
    -> rex_complex<decltype(a.re + b.re)> {
  return {a.re - b.re, a.im - b.im};
}
template <typename A, typename B>
constexpr REX_DEVICE auto rex_product(const rex_complex<A> &a, const rex_complex<B> &b)
    -> rex_complex<decltype(a.re + b.re)> {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
/// Divides by the larger part first, so that nothing overflows on the way; but integers at once.
template <typename A, typename B>
REX_DEVICE auto rex_ratio(const rex_complex<A> &a, const rex_complex<B> &b)
    -> rex_complex<decltype(a.re + b.re)> {
  typedef decltype(a.re + b.re) Real;
  const Real re = b.re, im = b.im;
  if (std::is_integral<Real>::value) {
    const Real square = re * re + im * im;
    return {(a.re * re + a.im * im) / square, (a.im * re - a.re * im) / square};
  }
  if ((re < 0 ? -re : re) >= (im < 0 ? -im : im)) {
    const Real part = im / re, whole = re + im * part;
    return {(a.re + a.im * part) / whole, (a.im - a.re * part) / whole};
  }
  const Real part = re / im, whole = re * part + im;
  return {(a.re * part + a.im) / whole, (a.im * part - a.re) / whole};
}
template <typename A, typename B>
constexpr REX_DEVICE bool rex_is_equal(const rex_complex<A> &a, const rex_complex<B> &b) {
  return a.re == b.re && a.im == b.im;
}

template <typename A, typename B>
constexpr REX_DEVICE bool rex_is_other(const rex_complex<A> &a, const rex_complex<B> &b) {
  return !rex_is_equal(a, b);
}

/// Both operands complex, or one of them real.
#define REX_COMPLEX_OPERATOR(sign, function)                                                                 \
  template <typename A, typename B>                                                                          \
  constexpr REX_DEVICE auto operator sign(const rex_complex<A> &a, const rex_complex<B> &b)                  \
      -> decltype(function(a, b)) {                                                                          \
    return function(a, b);                                                                                   \
  }                                                                                                          \
  template <typename A, typename B, typename = typename std::enable_if<std::is_arithmetic<B>::value>::type>  \
  constexpr REX_DEVICE auto operator sign(const rex_complex<A> &a, B b)                                      \
      -> decltype(function(a, rex_complex<decltype(A() + B())>(b))) {                                        \
    return function(a, rex_complex<decltype(A() + B())>(b));                                                 \
  }                                                                                                          \
  template <typename A, typename B, typename = typename std::enable_if<std::is_arithmetic<A>::value>::type>  \
  constexpr REX_DEVICE auto operator sign(A a, const rex_complex<B> &b)                                      \
      -> decltype(function(rex_complex<decltype(A() + B())>(a), b)) {                                        \
    return function(rex_complex<decltype(A() + B())>(a), b);                                                 \
  }
REX_COMPLEX_OPERATOR(+, rex_sum)
REX_COMPLEX_OPERATOR(-, rex_difference)
REX_COMPLEX_OPERATOR(*, rex_product)
REX_COMPLEX_OPERATOR(/, rex_ratio)
REX_COMPLEX_OPERATOR(==, rex_is_equal)
REX_COMPLEX_OPERATOR(!=, rex_is_other)
#undef REX_COMPLEX_OPERATOR

#define REX_COMPLEX_ASSIGNMENT(sign)                                                                         \
  template <typename Real, typename Other>                                                                   \
  REX_DEVICE rex_complex<Real> &operator sign##=(rex_complex<Real> &to, const Other &value) {                \
    return to = rex_complex<Real>(to sign value);                                                            \
  }
REX_COMPLEX_ASSIGNMENT(+)
REX_COMPLEX_ASSIGNMENT(-)
REX_COMPLEX_ASSIGNMENT(*)
REX_COMPLEX_ASSIGNMENT(/)
#undef REX_COMPLEX_ASSIGNMENT

/// __real__ z and __imag__ z, of a real number too.
template <typename Real> REX_DEVICE Real &rex_real(rex_complex<Real> &z) { return z.re; }
template <typename Real> REX_DEVICE Real rex_real(const rex_complex<Real> &z) { return z.re; }
template <typename Real> REX_DEVICE Real &rex_imaginary(rex_complex<Real> &z) { return z.im; }
template <typename Real> REX_DEVICE Real rex_imaginary(const rex_complex<Real> &z) { return z.im; }
template <typename Number, typename = typename std::enable_if<std::is_arithmetic<Number>::value>::type>
REX_DEVICE Number rex_real(const Number &number) {
  return number;
}
template <typename Number, typename = typename std::enable_if<std::is_arithmetic<Number>::value>::type>
REX_DEVICE Number rex_imaginary(const Number &) {
  return 0;
}

/// The functions of <complex.h>, which are those of std::complex.
template <typename Real> REX_DEVICE std::complex<Real> rex_to_cxx(rex_complex<Real> z) { return {z.re, z.im}; }
template <typename Real> REX_DEVICE rex_complex<Real> rex_of_cxx(std::complex<Real> z) { return {z.real(), z.imag()}; }
// Those that have the names of real ones.
#define REX_COMPLEX_FUNCTIONS(one)                                                                           \
  one(acos) one(acosh) one(asin) one(asinh) one(atan) one(atanh) one(cos) one(cosh) one(exp) one(log)        \
  one(sin) one(sinh) one(sqrt) one(tan) one(tanh)
#define REX_FUNCTION(name)                                                                                   \
  REX_DEVICE rex_complex<double> c##name(rex_complex<double> z) {                                            \
    return rex_of_cxx(std::name(rex_to_cxx(z)));                                                             \
  }                                                                                                          \
  REX_DEVICE rex_complex<float> c##name##f(rex_complex<float> z) { return rex_of_cxx(std::name(rex_to_cxx(z))); }
REX_COMPLEX_FUNCTIONS(REX_FUNCTION)
REX_FUNCTION(proj)
#undef REX_FUNCTION
#define REX_FUNCTIONS(Real, name)                                                                            \
  REX_DEVICE Real name(creal)(rex_complex<Real> z) { return z.re; }                                          \
  REX_DEVICE Real name(cimag)(rex_complex<Real> z) { return z.im; }                                          \
  REX_DEVICE Real name(cabs)(rex_complex<Real> z) { return std::abs(rex_to_cxx(z)); }                        \
  REX_DEVICE Real name(carg)(rex_complex<Real> z) { return std::arg(rex_to_cxx(z)); }                        \
  REX_DEVICE rex_complex<Real> name(conj)(rex_complex<Real> z) { return ~z; }                                \
  REX_DEVICE rex_complex<Real> name(cpow)(rex_complex<Real> z, rex_complex<Real> power) {                    \
    return rex_of_cxx(std::pow(rex_to_cxx(z), rex_to_cxx(power)));                                           \
  }
#define REX_OF_DOUBLE(name) name
#define REX_OF_FLOAT(name) name##f
REX_FUNCTIONS(double, REX_OF_DOUBLE)
REX_FUNCTIONS(float, REX_OF_FLOAT)
#undef REX_OF_DOUBLE
#undef REX_OF_FLOAT
#undef REX_FUNCTIONS
#if defined(_GLIBCXX_TGMATH_H) || defined(_TGMATH_H) || defined(__CLANG_TGMATH_H)
// In <tgmath.h>, the names of the real functions stand for those of complex numbers, too.
#define REX_FUNCTION(name)                                                                                   \
  template <typename Real> REX_DEVICE rex_complex<Real> name(rex_complex<Real> z) {                          \
    return rex_of_cxx(std::name(rex_to_cxx(z)));                                                             \
  }
REX_COMPLEX_FUNCTIONS(REX_FUNCTION)
#undef REX_FUNCTION
template <typename Real> REX_DEVICE Real fabs(rex_complex<Real> z) { return std::abs(rex_to_cxx(z)); }
template <typename A, typename B>
REX_DEVICE auto pow(rex_complex<A> z, rex_complex<B> power) -> rex_complex<decltype(A() + B())> {
  typedef rex_complex<decltype(A() + B())> Wider;
  return rex_of_cxx(std::pow(rex_to_cxx(Wider(z)), rex_to_cxx(Wider(power))));
}
template <typename A, typename B, typename = typename std::enable_if<std::is_arithmetic<B>::value>::type>
REX_DEVICE auto pow(rex_complex<A> z, B power) -> rex_complex<decltype(A() + B())> {
  return pow(z, rex_complex<decltype(A() + B())>(power));
}
template <typename A, typename B, typename = typename std::enable_if<std::is_arithmetic<A>::value>::type>
REX_DEVICE auto pow(A number, rex_complex<B> power) -> rex_complex<decltype(A() + B())> {
  return pow(rex_complex<decltype(A() + B())>(number), power);
}
#endif
#ifdef REX_DEVICE_HOST
typedef long double rex_widest;
#else
typedef double rex_widest;
#endif
#define REX_LONG(name)                                                                                       \
  template <typename Number> REX_DEVICE rex_complex<rex_widest> c##name##l(Number z) {                       \
    return rex_of_cxx(std::name(rex_to_cxx(rex_complex<rex_widest>(z))));                                    \
  }
REX_LONG(acos)
REX_LONG(acosh)
REX_LONG(asin)
REX_LONG(asinh)
REX_LONG(atan)
REX_LONG(atanh)
REX_LONG(cos)
REX_LONG(cosh)
REX_LONG(exp)
REX_LONG(log)
REX_LONG(proj)
REX_LONG(sin)
REX_LONG(sinh)
REX_LONG(sqrt)
REX_LONG(tan)
REX_LONG(tanh)
#undef REX_LONG
template <typename Number> REX_DEVICE rex_widest creall(Number z) { return rex_complex<rex_widest>(z).re; }
template <typename Number> REX_DEVICE rex_widest cimagl(Number z) { return rex_complex<rex_widest>(z).im; }
template <typename Number> REX_DEVICE rex_widest cabsl(Number z) { return std::abs(rex_to_cxx(rex_complex<rex_widest>(z))); }
template <typename Number> REX_DEVICE rex_widest cargl(Number z) { return std::arg(rex_to_cxx(rex_complex<rex_widest>(z))); }
template <typename Number> REX_DEVICE rex_complex<rex_widest> conjl(Number z) { return ~rex_complex<rex_widest>(z); }
template <typename Number, typename Power> REX_DEVICE rex_complex<rex_widest> cpowl(Number z, Power power) {
  return rex_of_cxx(std::pow(rex_to_cxx(rex_complex<rex_widest>(z)), rex_to_cxx(rex_complex<rex_widest>(power))));
}

#endif

// ---- Ranges of range-based loops --------------------------------------------------------------------------

template <typename Element, size_t Count> REX_DEVICE Element *rex_range_begin(Element (&range)[Count]) {
  return range;
}
template <typename Range> REX_DEVICE auto rex_range_begin(Range &&range) -> decltype(range.begin()) {
  return range.begin();
}
template <typename Element, size_t Count> REX_DEVICE uint64_t rex_range_size(Element (&)[Count]) {
  return Count;
}
template <typename Range>
REX_DEVICE auto rex_range_size(Range &&range) -> decltype(static_cast<uint64_t>(range.end() - range.begin())) {
  return static_cast<uint64_t>(range.end() - range.begin());
}

// ---- Objects in shared memory ---------------------------------------------------------------------------
//
// CUDA runs no constructors and destructors there: the objects live in a rex_storage.

/// to = from, for arrays too.
template <typename Value> REX_DEVICE void rex_assign(Value &to, const Value &from) { to = from; }
template <typename Element, size_t Count>
REX_DEVICE void rex_assign(Element (&to)[Count], const Element (&from)[Count]) {
  for (size_t i = 0; i < Count; ++i) rex_assign(to[i], from[i]);
}

/// ::new (rex_place{address}) T(...), without the header that declares placement.
struct rex_place {
  void *at;
};
REX_DEVICE void *operator new(size_t, rex_place place) noexcept { return place.at; }
REX_DEVICE void operator delete(void *, rex_place) noexcept {}

/// What a reference to a Target is bound to by an Expression, the type of decltype((x)): the object x or a part of it, or else a temporary.
template <typename Target, typename Expression> struct rex_binding {
  typedef typename std::remove_reference<Expression>::type rex_value;
  static constexpr bool rex_is_part = std::is_convertible<rex_value *, Target *>::value;
  typedef std::integral_constant<bool, rex_is_part && std::is_reference<Expression>::value> rex_is_object;
  typedef typename std::conditional<rex_is_part, rex_value, typename std::remove_cv<Target>::type>::type rex_new_object;

  template <typename Value> static REX_DEVICE Target *rex_find(std::true_type, const void *, Value value) {
    Expression &&object = value();
    return __builtin_addressof(object);
  }
  template <typename Value> static REX_DEVICE Target *rex_find(std::false_type, void *place, Value value) {
    return ::new (rex_place{place}) rex_new_object(value());
  }
  template <typename Value> static REX_DEVICE Target *rex_find(std::true_type, Value value) {
    return rex_find(std::true_type(), nullptr, value);
  }
  template <typename Value> static REX_DEVICE Target *rex_find(std::false_type, Value value) {
    return new rex_new_object(value());
  }
};
/// Binds a reference that lasts as long as the program: rex_bind<Target, decltype((x))>([&]() -> decltype((x)) { return x; }).
template <typename Target, typename Expression, typename Value> REX_DEVICE Target *rex_bind(Value value) {
  typedef rex_binding<Target, Expression> Binding;
  return Binding::rex_find(typename Binding::rex_is_object(), value);
}
/// The same with a place for the temporary.
template <typename Target, typename Expression, typename Value> REX_DEVICE Target *rex_bind_at(void *place, Value value) {
  typedef rex_binding<Target, Expression> Binding;
  return Binding::rex_find(typename Binding::rex_is_object(), place, value);
}
/// The type of the temporary; where there is none, a small one.
template <typename Target, typename Expression>
using rex_temporary =
    typename std::conditional<rex_binding<Target, Expression>::rex_is_object::value, char,
                              typename rex_binding<Target, Expression>::rex_new_object>::type;

/// The array that a lambda has a copy of.
template <typename Array> class rex_array_copy;
template <typename Element, size_t Count> class rex_array_copy<Element[Count]> {
public:
  explicit REX_DEVICE rex_array_copy(const Element (&array)[Count]) { rex_assign(values_, array); }
  REX_DEVICE operator Element *() { return values_; }
  REX_DEVICE operator const Element *() const { return values_; }

private:
  Element values_[Count];
};
template <typename Element, size_t Count>
class rex_array_copy<const Element[Count]> : public rex_array_copy<Element[Count]> {
public:
  using rex_array_copy<Element[Count]>::rex_array_copy;
};
template <typename Array> class rex_array_copy<Array &> : public rex_array_copy<Array> {
public:
  using rex_array_copy<Array>::rex_array_copy;
};

/// Constructs an object, or each element of an array.
template <typename Object> REX_DEVICE void rex_construct(Object &object) {
  ::new (rex_place{&object}) Object;
}
template <typename Element, size_t Count> REX_DEVICE void rex_construct(Element (&array)[Count]) {
  for (size_t i = 0; i < Count; ++i) rex_construct(array[i]);
}

/// An array in place: ::new (rex_place{&array}) rex_elements_of<Element[2]>{{first, second}}.
template <typename Array> struct rex_elements_of {
  Array elements;
};

/// The innermost elements of arrays with objects of classes, whose rows may have lost their number: constructs copies of
/// them in `to`, and assigns them.
template <typename Array, typename Row> REX_DEVICE void rex_construct_copies(Array &to, const Row *rows) {
  typedef typename std::remove_all_extents<Array>::type Element;
  const Element *from = reinterpret_cast<const Element *>(rows);
  for (size_t i = 0; i < sizeof to / sizeof(Element); ++i)
    ::new (rex_place{reinterpret_cast<Element *>(&to) + i}) Element(from[i]);
}
template <typename Array, typename To, typename From> REX_DEVICE void rex_assign_elements(To *to, const From *from) {
  typedef typename std::remove_all_extents<Array>::type Element;
  for (size_t i = 0; i < sizeof(Array) / sizeof(Element); ++i)
    reinterpret_cast<Element *>(to)[i] = reinterpret_cast<const Element *>(from)[i];
}

/// A thread's copy of such an array.
template <typename Array> class rex_array_of_copies {
public:
  template <typename Row> explicit REX_DEVICE rex_array_of_copies(const Row *rows) {
    rex_construct_copies(rex_object(), rows);
  }
  REX_DEVICE ~rex_array_of_copies() {
    typedef typename std::remove_all_extents<Array>::type Element;
    Element *elements = reinterpret_cast<Element *>(&rex_object());
    for (size_t i = sizeof(Array) / sizeof(Element); i > 0; --i) elements[i - 1].~Element();
  }
  rex_array_of_copies(const rex_array_of_copies &) = delete;

  REX_DEVICE Array &rex_object() { return storage_.rex_object(); }

private:
  rex_storage<Array> storage_;
};

/// Destroys a team's object, constant or not, or each element of an array, where its scope ends.
template <typename Object> class rex_destructor {
public:
  explicit REX_DEVICE rex_destructor(const Object &object) : object_(const_cast<Object &>(object)) {}
  REX_DEVICE ~rex_destructor() {
    if (threadIdx.x == 0) destroy(object_);
    __syncthreads();
  }
  rex_destructor(const rex_destructor &) = delete;

private:
  template <typename Value> static REX_DEVICE void destroy(Value &value) { value.~Value(); }
  template <typename Element, size_t Count> static REX_DEVICE void destroy(Element (&array)[Count]) {
    for (size_t i = Count; i > 0; --i) destroy(array[i - 1]);
  }

  Object &object_;
};

// ---- Parallel regions -----------------------------------------------------------------------------------

#define REX_SHARED_ROOM(Value, count, name)                                                                  \
  __shared__ rex_storage<Value[count]> name##_storage;                                                       \
  Value *name = name##_storage.rex_object()

/// The team's copy of the leader's object, which stays what it is when the leader's ends.
template <typename Object> REX_DEVICE Object &rex_team_object(const Object &own) {
  REX_SHARED_ROOM(Object, 1, room);
  __syncthreads(); // nobody uses the one of the turn before
  if (threadIdx.x == 0) ::new (rex_place{room}) Object(own);
  __syncthreads();
  return *room;
}

/// Where the threads of a parallel region that does not have all threads of the block wait for each other.
#if !defined REX_DEVICE_HOST && __CUDA_ARCH__ >= 800
#define REX_HAS_MBARRIER
typedef uint64_t rex_meeting; // an mbarrier object of PTX
#else
struct rex_meeting {
  unsigned threads, arrived, generation;
};
#endif
REX_DEVICE rex_meeting *rex_block_meeting() {
  REX_SHARED_ROOM(rex_meeting, 1, meeting);
  return meeting;
}
REX_DEVICE void rex_open(rex_meeting *meeting, unsigned threads) {
#ifdef REX_HAS_MBARRIER
  asm volatile("mbarrier.init.b64 [%0], %1;" : : "l"(meeting), "r"(threads) : "memory");
#else
  *meeting = {threads, 0, 0};
#endif
}
REX_DEVICE void rex_meet(rex_meeting *meeting) {
#ifdef REX_HAS_MBARRIER
  uint64_t phase;
  asm volatile("mbarrier.arrive.b64 %0, [%1];" : "=l"(phase) : "l"(meeting) : "memory");
  unsigned is_over = 0;
  while (!is_over) {
    asm volatile("{ .reg .pred over; mbarrier.test_wait.b64 over, [%1], %2; selp.u32 %0, 1, 0, over; }"
                 : "=r"(is_over)
                 : "l"(meeting), "l"(phase)
                 : "memory");
  }
#else
  const unsigned seen = atomicAdd(&meeting->generation, 0u);
  __threadfence_block();
  if (atomicAdd(&meeting->arrived, 1u) == meeting->threads - 1) {
    atomicExch(&meeting->arrived, 0u);
    __threadfence_block();
    atomicAdd(&meeting->generation, 1u);
  } else {
    while (atomicAdd(&meeting->generation, 0u) == seen) {
#ifdef REX_DEVICE_HOST
      rex_host_pause();
#endif
    }
  }
  __threadfence_block();
#endif
}

/// Begins a parallel region of `asked` threads: the first ones of the block. All threads of the block call it.
REX_DEVICE unsigned rex_crew(long long asked) {
  const unsigned threads = asked < 1 ? 1 : asked > blockDim.x ? blockDim.x : static_cast<unsigned>(asked);
  // All threads of the block meet without it, see rex_barrier.
  if (threadIdx.x == 0 && threads < blockDim.x) rex_open(rex_block_meeting(), threads);
  __syncthreads();
  return threads;
}

/// Waits for the first `threads` threads of the block.
REX_DEVICE void rex_barrier(unsigned threads) {
  if (threads >= blockDim.x) return __syncthreads();
  if (threads < 2) return;
#ifndef REX_DEVICE_HOST
  if (threads <= 32) return __syncwarp(threads < 32 ? (1u << threads) - 1 : ~0u);
  // The hardware counts whole warps.
  if (threads % 32 == 0) {
    asm volatile("barrier.sync 1, %0;" : : "r"(threads) : "memory");
    return;
  }
#endif
  rex_meet(rex_block_meeting());
}

#ifdef REX_TRACK_THREADS

/// What the threads of a block execute: the number of threads of the running parallel region, 0 in the
/// sequential code of the team, and for each thread how many parallel regions of its own it is in, with a mark
/// if the kernel is one parallel region of all threads.
struct rex_account {
  unsigned threads;
  unsigned char nested[1024];
};
REX_DEVICE rex_account *rex_block_account() {
  REX_SHARED_ROOM(rex_account, 1, account);
  return account;
}
REX_DEVICE unsigned char &rex_nesting() { return rex_block_account()->nested[threadIdx.x % 1024]; }

/// At the start of a kernel: all threads of the block in a parallel region, or 0 for sequential code, whose first thread
/// changes the number later.
constexpr unsigned char rex_all_threads = 0x80;
REX_DEVICE void rex_begin(unsigned threads) {
  if (threads == 0 && threadIdx.x == 0) rex_block_account()->threads = 0;
  rex_nesting() = threads > 0 ? rex_all_threads : 0;
}

/// Begins a parallel region in sequential code of the team, as rex_crew; rex_join ends it.
REX_DEVICE unsigned rex_fork(long long asked) {
  const unsigned threads = asked < 1 ? 1 : asked > blockDim.x ? blockDim.x : static_cast<unsigned>(asked);
  if (threadIdx.x == 0) rex_block_account()->threads = threads;
  return rex_crew(threads);
}
REX_DEVICE void rex_join() {
  __syncthreads();
  if (threadIdx.x == 0) rex_block_account()->threads = 0;
}

/// A parallel region of one thread, while the object lives.
struct rex_nested {
  REX_DEVICE rex_nested() { ++rex_nesting(); }
  REX_DEVICE ~rex_nested() { --rex_nesting(); }
  rex_nested(const rex_nested &) = delete;
};

REX_DEVICE unsigned rex_outer_threads() {
  return rex_nesting() & rex_all_threads ? blockDim.x : rex_block_account()->threads;
}
REX_DEVICE unsigned rex_nesting_level() { return rex_nesting() & (rex_all_threads - 1u); }

#else

REX_DEVICE unsigned rex_outer_threads() { return blockDim.x; }
REX_DEVICE unsigned rex_nesting_level() { return 0; }

#endif

/// Who executes a piece of code: the threads of the innermost parallel region and their numbers.
REX_DEVICE unsigned rex_team_threads() {
  const unsigned threads = rex_outer_threads();
  return rex_nesting_level() > 0 || threads == 0 ? 1 : threads;
}
REX_DEVICE unsigned rex_team_thread() {
  return rex_nesting_level() > 0 || rex_outer_threads() == 0 ? 0 : threadIdx.x;
}

/// Waits for the threads of the innermost parallel region.
REX_DEVICE void rex_team_barrier() {
  const unsigned threads = rex_team_threads();
  if (threads > 1) rex_barrier(threads);
}

/// The value of the block's first thread, to all its threads.
template <typename Value> REX_DEVICE Value rex_broadcast(Value value) {
  REX_SHARED_ROOM(Value, 1, room);
  __syncthreads(); // the readers of the call before have read
  if (threadIdx.x == 0) *room = value;
  __syncthreads();
  return *room;
}

template <typename Object> REX_DEVICE void rex_assign_from(Object &to, const Object &from, std::true_type) {
  __builtin_memcpy(&to, &from, sizeof to);
}
template <typename Object> REX_DEVICE void rex_assign_from(Object &to, const Object &from, std::false_type) {
  rex_assign(to, from);
}

/// The first thread's object, to the copies of the other threads of a parallel region of `threads` threads.
template <typename Object> REX_DEVICE void rex_copyprivate(Object &object, unsigned threads = blockDim.x) {
  if (threads < 2) return;
  REX_SHARED_ROOM(Object, 1, room);
  rex_barrier(threads); // the readers of the call before have read
  if (threadIdx.x == 0) __builtin_memcpy(room, &object, sizeof object);
  rex_barrier(threads);
  if (threadIdx.x != 0) rex_assign_from(object, *room, std::is_trivially_copyable<Object>());
  rex_barrier(threads); // whoever changes what it refers to does so after all have read
}

/// The value of the thread with the last assignment, to `target`: `at` is the number, from 1, of what assigned the thread's
/// `value`, or 0.
template <typename Value>
REX_DEVICE void rex_keep_assigned(Value &target, const Value &value, uint64_t at, unsigned threads = blockDim.x) {
  if (threads > 1) {
    REX_SHARED_ROOM(unsigned long long, 1, last);
    rex_barrier(threads); // the readers of the call before have read
    if (threadIdx.x == 0) *last = 0;
    rex_barrier(threads);
    atomicMax(last, static_cast<unsigned long long>(at));
    rex_barrier(threads);
    if (*last != at) return;
  }
  if (at > 0) target = value;
}

/// The value that the block's first thread computes, to all its threads.
template <typename Function> REX_DEVICE auto rex_leader(Function function) -> decltype(function()) {
  typedef decltype(function()) Value;
  REX_SHARED_ROOM(Value, 1, room);
  __syncthreads(); // the readers of the call before have read
  if (threadIdx.x == 0) *room = function();
  __syncthreads();
  return *room;
}

/// Sequential code of the team.
template <typename Function> REX_DEVICE void rex_sequential(Function function) {
  if (threadIdx.x == 0) function();
  __syncthreads();
}

// ---- Functions of the C library -------------------------------------------------------------------------

template <typename Character> REX_BOTH size_t rex_length(const Character *text, size_t limit) {
  size_t length = 0;
  while (length < limit && text[length]) ++length;
  return length;
}
REX_BOTH size_t rex_strlen(const char *text) { return __builtin_strlen(text); }
REX_BOTH size_t rex_strnlen(const char *text, size_t limit) { return rex_length(text, limit); }

REX_BOTH int rex_isupper(int c) { return c >= 'A' && c <= 'Z'; }
REX_BOTH int rex_islower(int c) { return c >= 'a' && c <= 'z'; }
REX_BOTH int rex_isalpha(int c) { return rex_isupper(c) || rex_islower(c); }
REX_BOTH int rex_isdigit(int c) { return c >= '0' && c <= '9'; }
REX_BOTH int rex_isalnum(int c) { return rex_isalpha(c) || rex_isdigit(c); }
REX_BOTH int rex_isxdigit(int c) { return rex_isdigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
REX_BOTH int rex_isblank(int c) { return c == ' ' || c == '\t'; }
REX_BOTH int rex_isspace(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
REX_BOTH int rex_isprint(int c) { return c >= ' ' && c <= '~'; }
REX_BOTH int rex_isgraph(int c) { return c > ' ' && c <= '~'; }
REX_BOTH int rex_ispunct(int c) { return rex_isgraph(c) && !rex_isalnum(c); }
REX_BOTH int rex_iscntrl(int c) { return (c >= 0 && c < ' ') || c == 127; }
REX_BOTH int rex_tolower(int c) { return rex_isupper(c) ? c - 'A' + 'a' : c; }
REX_BOTH int rex_toupper(int c) { return rex_islower(c) ? c - 'a' + 'A' : c; }

REX_BOTH int rex_strncmp(const char *one, const char *other, size_t limit) {
  for (size_t i = 0; i < limit; ++i) {
    const unsigned char a = static_cast<unsigned char>(one[i]), b = static_cast<unsigned char>(other[i]);
    if (a != b) return a < b ? -1 : 1;
    if (!a) break;
  }
  return 0;
}
REX_BOTH int rex_strcmp(const char *one, const char *other) { return __builtin_strcmp(one, other); }
REX_BOTH int rex_strncasecmp(const char *one, const char *other, size_t limit) {
  for (size_t i = 0; i < limit; ++i) {
    const int a = rex_tolower(static_cast<unsigned char>(one[i])), b = rex_tolower(static_cast<unsigned char>(other[i]));
    if (a != b || !a) return a - b;
  }
  return 0;
}
REX_BOTH int rex_strcasecmp(const char *one, const char *other) { return rex_strncasecmp(one, other, ~size_t(0)); }
REX_BOTH int rex_memcmp(const void *one, const void *other, size_t bytes) { return __builtin_memcmp(one, other, bytes); }

REX_BOTH char *rex_strcpy(char *to, const char *from) {
  size_t i = 0;
  for (; from[i]; ++i) to[i] = from[i];
  to[i] = 0;
  return to;
}
REX_BOTH char *rex_strncpy(char *to, const char *from, size_t count) {
  size_t i = 0;
  for (; i < count && from[i]; ++i) to[i] = from[i];
  for (; i < count; ++i) to[i] = 0;
  return to;
}
REX_BOTH char *rex_strcat(char *to, const char *from) {
  rex_strcpy(to + rex_strlen(to), from);
  return to;
}
REX_BOTH char *rex_strncat(char *to, const char *from, size_t count) {
  char *end = to + rex_strlen(to);
  const size_t length = rex_strnlen(from, count);
  for (size_t i = 0; i < length; ++i) end[i] = from[i];
  end[length] = 0;
  return to;
}
REX_BOTH void *rex_memmove(void *to, const void *from, size_t bytes) { return __builtin_memmove(to, from, bytes); }

// As in C, a pointer into what is constant comes back without that word.
REX_BOTH char *rex_strchr(const char *text, int c) {
  for (;; ++text) {
    if (*text == static_cast<char>(c)) return const_cast<char *>(text);
    if (!*text) return nullptr;
  }
}
REX_BOTH char *rex_strrchr(const char *text, int c) {
  const char *last = nullptr;
  for (;; ++text) {
    if (*text == static_cast<char>(c)) last = text;
    if (!*text) return const_cast<char *>(last);
  }
}
REX_BOTH char *rex_index(const char *text, int c) { return rex_strchr(text, c); }
REX_BOTH char *rex_rindex(const char *text, int c) { return rex_strrchr(text, c); }
/// Numbers in the texts are compared by their values, with zeros in front as parts of a fraction.
REX_BOTH int rex_strverscmp(const char *one, const char *other) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  size_t first = 0; // of the number that holds the first difference
  size_t at = 0;
  for (; one[at] == other[at]; ++at) {
    if (!one[at]) return 0;
    if (!is_digit(one[at])) first = at + 1;
  }
  const int difference = static_cast<unsigned char>(one[at]) - static_cast<unsigned char>(other[at]);
  const bool in_number = is_digit(one[first]) && is_digit(other[first]);
  if (!in_number) return difference;
  size_t zeros = first;
  while (zeros < at && one[zeros] == '0') ++zeros;
  const bool is_fraction = zeros > first || one[at] == '0' || other[at] == '0';
  if (is_fraction && (zeros == at || one[first] == '0')) {
    // More zeros in front make a smaller number; a number of zeros alone comes before what goes on.
    if (zeros < at || (is_digit(one[at]) && is_digit(other[at]))) return difference;
    return is_digit(one[at]) ? -1 : is_digit(other[at]) ? 1 : difference;
  }
  size_t left = at, right = at;
  while (is_digit(one[left])) ++left;
  while (is_digit(other[right])) ++right;
  return left != right ? (left < right ? -1 : 1) : difference;
}
REX_BOTH char *rex_strstr(const char *text, const char *wanted) {
  const size_t length = rex_strlen(wanted);
  for (;; ++text) {
    if (rex_strncmp(text, wanted, length) == 0) return const_cast<char *>(text);
    if (!*text) return nullptr;
  }
}
REX_BOTH size_t rex_strspn(const char *text, const char *accepted) {
  size_t length = 0;
  while (text[length] && rex_strchr(accepted, text[length])) ++length;
  return length;
}
REX_BOTH size_t rex_strcspn(const char *text, const char *rejected) {
  size_t length = 0;
  while (text[length] && !rex_strchr(rejected, text[length])) ++length;
  return length;
}
REX_BOTH char *rex_strpbrk(const char *text, const char *accepted) {
  text += rex_strcspn(text, accepted);
  return *text ? const_cast<char *>(text) : nullptr;
}
REX_BOTH void *rex_memchr(const void *memory, int c, size_t bytes) { return const_cast<void *>(__builtin_memchr(memory, c, bytes)); }

REX_BOTH char *rex_stpcpy(char *to, const char *from) {
  rex_strcpy(to, from);
  return to + rex_strlen(to);
}
REX_BOTH char *rex_stpncpy(char *to, const char *from, size_t count) {
  rex_strncpy(to, from, count);
  return to + rex_strnlen(to, count);
}
REX_BOTH char *rex_strchrnul(const char *text, int c) {
  while (*text && *text != static_cast<char>(c)) ++text;
  return const_cast<char *>(text);
}
REX_BOTH char *rex_strcasestr(const char *text, const char *wanted) {
  const size_t length = rex_strlen(wanted);
  for (;; ++text) {
    if (rex_strncasecmp(text, wanted, length) == 0) return const_cast<char *>(text);
    if (!*text) return nullptr;
  }
}
// The locale is "C".
REX_BOTH int rex_strcoll(const char *one, const char *other) { return rex_strcmp(one, other); }
REX_BOTH size_t rex_strxfrm(char *to, const char *from, size_t room) {
  const size_t length = rex_strlen(from);
  if (room > 0) rex_strncpy(to, from, room);
  return length;
}
/// Ends the word at `*rest` at the first of some characters, and goes on behind it.
REX_BOTH char *rex_strsep(char **rest, const char *between) {
  char *const word = *rest;
  if (!word) return nullptr;
  char *const end = word + rex_strcspn(word, between);
  *rest = *end ? end + 1 : nullptr;
  *end = 0;
  return word;
}
REX_BOTH char *rex_strtok_r(char *text, const char *between, char **rest) {
  if (text) *rest = text;
  if (!*rest) return nullptr;
  *rest += rex_strspn(*rest, between);
  return **rest ? rex_strsep(rest, between) : nullptr;
}
REX_BOTH void *rex_rawmemchr(const void *memory, int c) { return rex_memchr(memory, c, ~size_t(0)); }
REX_BOTH void *rex_memrchr(const void *memory, int c, size_t bytes) {
  const unsigned char *at = static_cast<const unsigned char *>(memory);
  for (size_t i = bytes; i > 0; --i)
    if (at[i - 1] == static_cast<unsigned char>(c)) return const_cast<unsigned char *>(at + i - 1);
  return nullptr;
}
REX_BOTH void *rex_memmem(const void *memory, size_t bytes, const void *wanted, size_t length) {
  const unsigned char *at = static_cast<const unsigned char *>(memory);
  for (size_t i = 0; i + length <= bytes; ++i)
    if (rex_memcmp(at + i, wanted, length) == 0) return const_cast<unsigned char *>(at + i);
  return nullptr;
}
REX_BOTH void *rex_mempcpy(void *to, const void *from, size_t bytes) {
  return static_cast<char *>(rex_memmove(to, from, bytes)) + bytes;
}
REX_BOTH void *rex_memccpy(void *to, const void *from, int c, size_t bytes) {
  const void *const last = rex_memchr(from, c, bytes);
  const size_t copied = last ? static_cast<size_t>(static_cast<const char *>(last) - static_cast<const char *>(from)) + 1 : bytes;
  void *const end = rex_mempcpy(to, from, copied);
  return last ? end : nullptr;
}
REX_BOTH int rex_bcmp(const void *one, const void *other, size_t bytes) { return rex_memcmp(one, other, bytes); }
REX_BOTH void rex_bcopy(const void *from, void *to, size_t bytes) { rex_memmove(to, from, bytes); }
REX_BOTH void rex_bzero(void *to, size_t bytes) { memset(to, 0, bytes); }
REX_BOTH int rex_ffsll(long long bits) {
  int place = 1;
  if (!bits) return 0;
  for (; !(bits & 1); bits >>= 1) ++place;
  return place;
}
REX_BOTH int rex_ffsl(long bits) { return rex_ffsll(bits); }
REX_BOTH int rex_ffs(int bits) { return rex_ffsll(bits); }
REX_BOTH int rex_isascii(int c) { return c >= 0 && c < 128; }
REX_BOTH int rex_toascii(int c) { return c & 127; }

/// Ends the program. The runtime says that a kernel failed, and a GPU cannot tell it the status.
REX_DEVICE void rex_abort() {
#ifdef REX_DEVICE_HOST
  abort();
#else
  __trap();
#endif
}
REX_DEVICE void rex_exit(int status) {
#ifdef REX_DEVICE_HOST
  exit(status);
#else
  (void)status;
  __trap();
#endif
}
REX_DEVICE void rex__exit(int status) { rex_exit(status); }
REX_DEVICE void rex__Exit(int status) { rex_exit(status); }
REX_DEVICE void rex_quick_exit(int status) { rex_exit(status); }

REX_DEVICE void *rex_calloc(size_t count, size_t size) {
  if (size && count > ~size_t(0) / size) return nullptr;
  void *const memory = malloc(count * size);
  if (memory) memset(memory, 0, count * size);
  return memory;
}
REX_DEVICE char *rex_strndup(const char *text, size_t limit) {
  const size_t length = rex_strnlen(text, limit);
  char *const copy = static_cast<char *>(malloc(length + 1));
  if (copy) {
    rex_memmove(copy, text, length);
    copy[length] = 0;
  }
  return copy;
}
REX_DEVICE char *rex_strdup(const char *text) { return rex_strndup(text, ~size_t(0)); }

/// The digits of an integer at `text`, as `strtoll` and its kin read them, but for `errno`; what is larger than a limit becomes that limit.
REX_BOTH unsigned long long rex_integer(const char *text, char **end, int base, unsigned long long positive_limit,
                                        unsigned long long negative_limit, bool &is_negative, bool &is_too_large) {
  const char *at = text;
  while (rex_isspace(static_cast<unsigned char>(*at))) ++at;
  is_negative = *at == '-';
  if (*at == '-' || *at == '+') ++at;
  const bool has_prefix = at[0] == '0' && (at[1] == 'x' || at[1] == 'X') && rex_isxdigit(static_cast<unsigned char>(at[2]));
  if ((base == 0 || base == 16) && has_prefix) {
    at += 2;
    base = 16;
  } else if (base == 0) {
    base = *at == '0' ? 8 : 10;
  }
  const unsigned long long limit = is_negative ? negative_limit : positive_limit;
  unsigned long long value = 0;
  is_too_large = false;
  const char *digits = at;
  for (;; ++at) {
    const int c = rex_tolower(static_cast<unsigned char>(*at));
    const int digit = rex_isdigit(c) ? c - '0' : rex_islower(c) ? c - 'a' + 10 : base;
    if (digit >= base) break;
    const unsigned long long room = (limit - static_cast<unsigned>(digit)) / static_cast<unsigned>(base);
    is_too_large = is_too_large || value > room;
    value = is_too_large ? limit : value * static_cast<unsigned>(base) + static_cast<unsigned>(digit);
  }
  if (end) *end = const_cast<char *>(at == digits ? text : at);
  return value;
}
REX_BOTH long long rex_strtoll(const char *text, char **end, int base) {
  const unsigned long long largest = 0x7fffffffffffffffULL;
  bool is_negative, is_too_large;
  const unsigned long long value = rex_integer(text, end, base, largest, largest + 1, is_negative, is_too_large);
  return static_cast<long long>(is_negative ? 0 - value : value);
}
REX_BOTH unsigned long long rex_strtoull(const char *text, char **end, int base) {
  const unsigned long long largest = ~0ULL;
  bool is_negative, is_too_large;
  const unsigned long long value = rex_integer(text, end, base, largest, largest, is_negative, is_too_large);
  return is_negative && !is_too_large ? 0 - value : value;
}
REX_BOTH unsigned long rex_strtoul(const char *text, char **end, int base) { return rex_strtoull(text, end, base); }
REX_BOTH long long rex_strtoimax(const char *text, char **end, int base) { return rex_strtoll(text, end, base); }
REX_BOTH unsigned long long rex_strtoumax(const char *text, char **end, int base) { return rex_strtoull(text, end, base); }
REX_BOTH long rex_strtol(const char *text, char **end, int base) { return rex_strtoll(text, end, base); }
REX_BOTH long long rex_atoll(const char *text) { return rex_strtoll(text, nullptr, 10); }
REX_BOTH long rex_atol(const char *text) { return rex_strtoll(text, nullptr, 10); }
REX_BOTH int rex_atoi(const char *text) { return static_cast<int>(rex_strtoll(text, nullptr, 10)); }

/// What `rex_rounded` has to know of a type: its digits, the exponent of its least number, and an integer of its size.
template <typename Number> struct rex_format;
template <> struct rex_format<double> {
  typedef uint64_t bits;
  enum { digits = 53, least = -1074, infinity = 0x7ff };
};
template <> struct rex_format<float> {
  typedef uint32_t bits;
  enum { digits = 24, least = -149, infinity = 0xff };
};

/// The number next to `value` * 2^`exponent`, of two the even one. `more` says that the value is a little larger, by less than 2^`exponent`.
template <typename Number> REX_BOTH Number rex_rounded(uint64_t value, int exponent, bool more) {
  typedef rex_format<Number> format;
  uint64_t encoded = 0;
  if (value) {
    for (; !(value >> 63); value <<= 1) --exponent;
    int dropped = 64 - format::digits;
    if (exponent + dropped < format::least) dropped = format::least - exponent;
    if (dropped <= 64) {
      const uint64_t half = uint64_t(1) << (dropped - 1);
      const uint64_t rest = value & (half | (half - 1));
      uint64_t kept = dropped == 64 ? 0 : value >> dropped;
      if (rest > half || (rest == half && (more || kept % 2 == 1))) ++kept;
      // The first digit of what is kept, which the format leaves out, counts the exponent up by one.
      const uint64_t infinity = uint64_t(format::infinity) << (format::digits - 1);
      const uint64_t steps = static_cast<uint64_t>(exponent + dropped - format::least);
      encoded = steps >= format::infinity ? infinity : (steps << (format::digits - 1)) + kept;
      if (encoded > infinity) encoded = infinity;
    }
  }
  const typename format::bits bits = static_cast<typename format::bits>(encoded);
  Number number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

/// A decimal fraction 0.ddd... * 10^`point`. Digits behind the last that can decide how a number is rounded are only known to be there.
struct rex_decimal {
  enum { limit = 800, most_carried = 19 };
  unsigned char digits[limit + most_carried];
  int count, point;
  bool has_more;

  REX_BOTH void append(int digit) {
    if (count < limit) digits[count++] = static_cast<unsigned char>(digit);
    else has_more = has_more || digit != 0;
  }
  /// Divides by 2^`by`, at most 60.
  REX_BOTH void halve(int by) {
    uint64_t rest = 0;
    int read = 0;
    for (; !(rest >> by); ++read) rest = rest * 10 + (read < count ? digits[read] : 0);
    point -= read - 1;
    const int known = count;
    count = 0;
    for (;; ++read) {
      append(static_cast<int>(rest >> by)); // never behind what is still to be read, unless nothing is
      rest &= (uint64_t(1) << by) - 1;
      if (read >= known && rest == 0) break;
      rest = rest * 10 + (read < known ? digits[read] : 0);
    }
    trim();
  }
  /// Multiplies by 2^`by`, at most 60.
  REX_BOTH void twice(int by) {
    uint64_t carried = 0;
    for (int i = count - 1; i >= 0; --i) {
      carried += static_cast<uint64_t>(digits[i]) << by;
      digits[i + most_carried] = static_cast<unsigned char>(carried % 10);
      carried /= 10;
    }
    int first = most_carried;
    for (; carried; carried /= 10) digits[--first] = static_cast<unsigned char>(carried % 10);
    const int length = count + most_carried - first;
    point += most_carried - first;
    count = 0;
    for (int i = 0; i < length; ++i) append(digits[first + i]);
    trim();
  }
  REX_BOTH void trim() {
    while (count > 0 && digits[count - 1] == 0) --count;
  }
  template <typename Number> REX_BOTH Number rounded() {
    if (count == 0 || point < -400) return 0;
    if (point > 400) return rex_rounded<Number>(1, 1 << 20, false);
    int exponent = 0;
    // To between 1/2 and 1: 8^n is less than 10^n, and more than a tenth of it for n = 1.
    while (point > 0) {
      const int by = point < 20 ? 3 * point : 60;
      halve(by);
      exponent += by;
    }
    while (point < 0 || digits[0] < 5) {
      const int by = point == 0 ? 1 : point > -20 ? -3 * point : 60;
      twice(by);
      exponent -= by;
    }
    twice(60);
    uint64_t value = 0;
    for (int i = 0; i < point; ++i) value = value * 10 + (i < count ? digits[i] : 0);
    return rex_rounded<Number>(value, exponent - 60, has_more || count > point);
  }
};

/// Whether a text begins with a word of small letters, in letters of any size.
REX_BOTH bool rex_begins_with(const char *text, const char *word) { return rex_strncasecmp(text, word, rex_strlen(word)) == 0; }

/// Reads `e+12` after a number: what stands before a sign and digits is a letter.
REX_BOTH const char *rex_exponent(const char *at, char letter, int &exponent) {
  if (rex_tolower(static_cast<unsigned char>(*at)) != letter) return at;
  const char *digits = at + 1;
  const bool is_negative = *digits == '-';
  if (*digits == '-' || *digits == '+') ++digits;
  if (!rex_isdigit(static_cast<unsigned char>(*digits))) return at;
  int value = 0;
  // Beyond all that a text of some length can make good.
  for (; rex_isdigit(static_cast<unsigned char>(*digits)); ++digits)
    if (value < 100000000) value = value * 10 + (*digits - '0');
  exponent += is_negative ? -value : value;
  return digits;
}

/// `0x1.8p3`, after `0x`.
template <typename Number> REX_BOTH const char *rex_hexadecimal(const char *at, Number &number) {
  uint64_t value = 0;
  int exponent = 0;
  bool has_point = false, has_more = false;
  for (;; ++at) {
    const int c = rex_tolower(static_cast<unsigned char>(*at));
    if (c == '.' && !has_point) {
      has_point = true;
      continue;
    }
    if (!rex_isxdigit(c)) break;
    const unsigned digit = static_cast<unsigned>(rex_isdigit(c) ? c - '0' : c - 'a' + 10);
    const bool is_kept = !(value >> 60);
    if (is_kept) value = value * 16 + digit;
    else has_more = has_more || digit != 0;
    exponent += (is_kept ? 0 : 4) - (has_point ? 4 : 0);
  }
  at = rex_exponent(at, 'p', exponent);
  number = rex_rounded<Number>(value, exponent, has_more);
  return at;
}

/// `12.5e3`
template <typename Number> REX_BOTH const char *rex_decimal_number(const char *at, Number &number) {
  rex_decimal decimal;
  decimal.count = decimal.point = 0;
  decimal.has_more = false;
  bool has_point = false;
  for (;; ++at) {
    if (*at == '.' && !has_point) {
      has_point = true;
      continue;
    }
    if (!rex_isdigit(static_cast<unsigned char>(*at))) break;
    const bool leads = *at == '0' && decimal.count == 0;
    if (!leads) decimal.append(*at - '0');
    decimal.point += (has_point || leads ? 0 : 1) - (has_point && leads ? 1 : 0);
  }
  int exponent = 0;
  at = rex_exponent(at, 'e', exponent);
  decimal.point += exponent;
  decimal.trim();
  number = decimal.rounded<Number>();
  return at;
}

/// `strtod` and `strtof`, but for `errno`; every number is rounded as C's are.
template <typename Number> REX_BOTH Number rex_number(const char *text, char **end) {
  const char *at = text;
  while (rex_isspace(static_cast<unsigned char>(*at))) ++at;
  const bool is_negative = *at == '-';
  if (*at == '-' || *at == '+') ++at;
  const bool has_prefix = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
  Number number = 0;
  if (has_prefix && rex_isxdigit(static_cast<unsigned char>(at[at[2] == '.' ? 3 : 2]))) {
    at = rex_hexadecimal(at + 2, number);
  } else if (rex_isdigit(static_cast<unsigned char>(at[*at == '.' ? 1 : 0]))) {
    at = rex_decimal_number(at, number);
  } else if (rex_begins_with(at, "inf")) {
    number = rex_rounded<Number>(1, 1 << 20, false);
    at += rex_begins_with(at, "infinity") ? 8 : 3;
  } else if (rex_begins_with(at, "nan")) {
    const Number infinity = rex_rounded<Number>(1, 1 << 20, false);
    number = infinity - infinity;
    at += 3;
    const char *close = at;
    if (*close == '(')
      for (++close; rex_isalnum(static_cast<unsigned char>(*close)) || *close == '_'; ++close) {}
    if (close > at && *close == ')') at = close + 1;
  } else {
    if (end) *end = const_cast<char *>(text);
    return 0;
  }
  if (end) *end = const_cast<char *>(at);
  return is_negative ? -number : number;
}
REX_BOTH double rex_strtod(const char *text, char **end) { return rex_number<double>(text, end); }
REX_BOTH float rex_strtof(const char *text, char **end) { return rex_number<float>(text, end); }
#ifdef REX_DEVICE_HOST
REX_BOTH long double rex_strtold(const char *text, char **end) { return strtold(text, end); }
#else
REX_BOTH double rex_strtold(const char *text, char **end) { return rex_number<double>(text, end); }
#endif
REX_BOTH double rex_atof(const char *text) { return rex_number<double>(text, nullptr); }

/// Sorts by a heap: in place, in a time that no order of the elements makes worse.
template <typename Compare> REX_BOTH void rex_qsort(void *elements, size_t count, size_t size, Compare compare) {
  unsigned char *const first = static_cast<unsigned char *>(elements);
  const auto swap = [=](size_t one, size_t other) {
    unsigned char *const a = first + one * size, *const b = first + other * size;
    for (size_t i = 0; i < size; ++i) {
      const unsigned char byte = a[i];
      a[i] = b[i];
      b[i] = byte;
    }
  };
  size_t heap = count / 2; // elements from here on have none below them that are larger
  size_t end = count;
  while (end > 1) {
    if (heap > 0) --heap;
    else swap(0, --end);
    for (size_t at = heap, below = 2 * at + 1; below < end; at = below, below = 2 * at + 1) {
      if (below + 1 < end && compare(first + below * size, first + (below + 1) * size) < 0) ++below;
      if (compare(first + at * size, first + below * size) >= 0) break;
      swap(at, below);
    }
  }
}
template <typename Compare, typename Context>
REX_BOTH void rex_qsort_r(void *elements, size_t count, size_t size, Compare compare, Context context) {
  rex_qsort(elements, count, size, [=](const void *one, const void *other) { return compare(one, other, context); });
}
template <typename Compare>
REX_BOTH void *rex_bsearch(const void *key, const void *elements, size_t count, size_t size, Compare compare) {
  const unsigned char *first = static_cast<const unsigned char *>(elements);
  while (count > 0) {
    const unsigned char *middle = first + count / 2 * size;
    const int order = compare(key, middle);
    if (order == 0) return const_cast<unsigned char *>(middle);
    if (order > 0) first = middle + size;
    count = order > 0 ? count - count / 2 - 1 : count / 2;
  }
  return nullptr;
}

/// What `div` gives; it becomes a `div_t` where one is wanted.
template <typename Number> struct rex_division {
  Number quot, rem;
  template <typename Result> REX_BOTH operator Result() const {
    Result result;
    result.quot = quot;
    result.rem = rem;
    return result;
  }
};
template <typename Number> REX_BOTH rex_division<Number> rex_divided(Number a, Number b) { return {a / b, a % b}; }
REX_BOTH rex_division<int> rex_div(int a, int b) { return rex_divided(a, b); }
REX_BOTH rex_division<long> rex_div(long a, long b) { return rex_divided(a, b); }
REX_BOTH rex_division<long long> rex_div(long long a, long long b) { return rex_divided(a, b); }
REX_BOTH rex_division<long> rex_ldiv(long a, long b) { return rex_divided(a, b); }
REX_BOTH rex_division<long long> rex_lldiv(long long a, long long b) { return rex_divided(a, b); }
REX_BOTH long long rex_imaxabs(long long a) { return a < 0 ? -a : a; }
REX_BOTH rex_division<long long> rex_imaxdiv(long long a, long long b) { return rex_divided(a, b); }

/// An integer of less than 31 bits, of three steps of the state.
REX_BOTH int rex_rand_r(unsigned *state) {
  const unsigned bits[3] = {11, 10, 10};
  unsigned number = 0;
  for (unsigned i = 0; i < 3; ++i) {
    *state = *state * 1103515245u + 12345u;
    number = number << bits[i] | ((*state >> 16) & ((1u << bits[i]) - 1));
  }
  return static_cast<int>(number);
}
/// The next 48 bits of a state.
REX_BOTH uint64_t rex_next48(unsigned short *state) {
  uint64_t bits = static_cast<uint64_t>(state[2]) << 32 | static_cast<uint64_t>(state[1]) << 16 | state[0];
  bits = bits * 0x5deece66dULL + 11;
  for (int i = 0; i < 3; ++i) state[i] = static_cast<unsigned short>(bits >> 16 * i);
  return bits & 0xffffffffffffULL;
}
REX_BOTH double rex_erand48(unsigned short *state) {
  return static_cast<double>(rex_next48(state)) / static_cast<double>(1ULL << 48);
}
REX_BOTH long rex_nrand48(unsigned short *state) { return static_cast<long>(rex_next48(state) >> 17); }
REX_BOTH long rex_jrand48(unsigned short *state) { return static_cast<int>(rex_next48(state) >> 16); }

REX_BOTH int rex_finite(double x) { return x - x == 0; }
REX_BOTH int rex_finitef(float x) { return x - x == 0; }
REX_DEVICE double rex_drem(double x, double y) { return __builtin_remainder(x, y); }
REX_DEVICE float rex_dremf(float x, float y) { return __builtin_remainderf(x, y); }
REX_DEVICE double rex_roundeven(double x) { return __builtin_rint(x); }
REX_DEVICE float rex_roundevenf(float x) { return __builtin_rintf(x); }
/// Whether the gamma function is negative at `x`.
REX_DEVICE bool rex_gamma_is_negative(double x) {
  return x == 0 ? 1 / x < 0 : x < 0 && __builtin_floor(x) != x && __builtin_fmod(__builtin_floor(x), 2.0) != 0;
}
REX_DEVICE double rex_lgamma_r(double x, int *sign) {
  *sign = rex_gamma_is_negative(x) ? -1 : 1;
  return __builtin_lgamma(x);
}
REX_DEVICE float rex_lgammaf_r(float x, int *sign) {
  *sign = rex_gamma_is_negative(x) ? -1 : 1;
  return __builtin_lgammaf(x);
}
/// Towards a number that may be of more digits.
REX_DEVICE double rex_nexttoward(double x, long double y) {
  const double far = rex_rounded<double>(1, 1 << 20, false);
  return y > x ? __builtin_nextafter(x, far) : y < x ? __builtin_nextafter(x, -far) : x + static_cast<double>(y - x);
}
REX_DEVICE float rex_nexttowardf(float x, long double y) {
  const float far = rex_rounded<float>(1, 1 << 20, false);
  return y > x ? __builtin_nextafterf(x, far) : y < x ? __builtin_nextafterf(x, -far) : x + static_cast<float>(y - x);
}

/// The time of day, as `struct timespec` and `struct timeval` have it.
REX_DEVICE uint64_t rex_nanoseconds() {
#ifdef REX_DEVICE_HOST
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
#else
  unsigned long long nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
#endif
}
template <typename Time> REX_DEVICE int rex_clock_gettime(int, Time *time) {
  const uint64_t now = rex_nanoseconds();
  time->tv_sec = static_cast<decltype(time->tv_sec)>(now / 1000000000);
  time->tv_nsec = static_cast<decltype(time->tv_nsec)>(now % 1000000000);
  return 0;
}
template <typename Time, typename Zone> REX_DEVICE int rex_gettimeofday(Time *time, Zone) {
  const uint64_t now = rex_nanoseconds();
  time->tv_sec = static_cast<decltype(time->tv_sec)>(now / 1000000000);
  time->tv_usec = static_cast<decltype(time->tv_usec)>(now % 1000000000 / 1000);
  return 0;
}
REX_DEVICE long rex_time(long *time) {
  const long now = static_cast<long>(rex_nanoseconds() / 1000000000);
  if (time) *time = now;
  return now;
}
REX_BOTH double rex_difftime(long end, long begin) { return static_cast<double>(end - begin); }

// ---- Wide characters -------------------------------------------------------------------------------------
//
// Of wide characters those of ASCII have a class.
REX_BOTH size_t rex_wcslen(const wchar_t *text) { return rex_length(text, ~size_t(0)); }
REX_BOTH size_t rex_wcsnlen(const wchar_t *text, size_t limit) { return rex_length(text, limit); }
REX_BOTH int rex_wcsncmp(const wchar_t *one, const wchar_t *other, size_t limit) {
  for (size_t i = 0; i < limit; ++i) {
    if (one[i] != other[i]) return one[i] < other[i] ? -1 : 1;
    if (!one[i]) break;
  }
  return 0;
}
REX_BOTH int rex_wcscmp(const wchar_t *one, const wchar_t *other) { return rex_wcsncmp(one, other, ~size_t(0)); }
REX_BOTH int rex_wmemcmp(const wchar_t *one, const wchar_t *other, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (one[i] != other[i]) return one[i] < other[i] ? -1 : 1;
  return 0;
}
REX_BOTH wchar_t *rex_wmemset(wchar_t *to, wchar_t c, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = c;
  return to;
}
REX_BOTH wchar_t *rex_wmemmove(wchar_t *to, const wchar_t *from, size_t count) {
  return static_cast<wchar_t *>(rex_memmove(to, from, count * sizeof *to));
}
REX_BOTH wchar_t *rex_wmemcpy(wchar_t *to, const wchar_t *from, size_t count) { return rex_wmemmove(to, from, count); }
REX_BOTH wchar_t *rex_wcscpy(wchar_t *to, const wchar_t *from) { return rex_wmemmove(to, from, rex_wcslen(from) + 1); }
REX_BOTH wchar_t *rex_wcsncpy(wchar_t *to, const wchar_t *from, size_t count) {
  const size_t length = rex_wcsnlen(from, count);
  rex_wmemset(to + length, 0, count - length);
  return rex_wmemmove(to, from, length);
}
REX_BOTH wchar_t *rex_wcscat(wchar_t *to, const wchar_t *from) {
  rex_wcscpy(to + rex_wcslen(to), from);
  return to;
}
REX_BOTH wchar_t *rex_wcsncat(wchar_t *to, const wchar_t *from, size_t count) {
  const size_t length = rex_wcsnlen(from, count);
  wchar_t *const end = to + rex_wcslen(to);
  rex_wmemmove(end, from, length);
  end[length] = 0;
  return to;
}
REX_BOTH wchar_t *rex_wmemchr(const wchar_t *memory, wchar_t c, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (memory[i] == c) return const_cast<wchar_t *>(memory + i);
  return nullptr;
}
REX_BOTH wchar_t *rex_wcschr(const wchar_t *text, wchar_t c) { return rex_wmemchr(text, c, rex_wcslen(text) + 1); }
REX_BOTH wchar_t *rex_wcsrchr(const wchar_t *text, wchar_t c) {
  for (size_t i = rex_wcslen(text) + 1; i > 0; --i)
    if (text[i - 1] == c) return const_cast<wchar_t *>(text + i - 1);
  return nullptr;
}
#define REX_WIDE(name)                                                                                       \
  REX_BOTH int rex_isw##name(unsigned c) { return c < 128 && rex_is##name(static_cast<int>(c)); }
REX_WIDE(alnum)
REX_WIDE(alpha)
REX_WIDE(blank)
REX_WIDE(cntrl)
REX_WIDE(digit)
REX_WIDE(graph)
REX_WIDE(lower)
REX_WIDE(print)
REX_WIDE(punct)
REX_WIDE(space)
REX_WIDE(upper)
REX_WIDE(xdigit)
#undef REX_WIDE
REX_BOTH unsigned rex_towlower(unsigned c) { return c < 128 ? static_cast<unsigned>(rex_tolower(static_cast<int>(c))) : c; }
REX_BOTH unsigned rex_towupper(unsigned c) { return c < 128 ? static_cast<unsigned>(rex_toupper(static_cast<int>(c))) : c; }

// ---- Output of the C library ----------------------------------------------------------------------------
//
// On a GPU both streams are the output of `printf`.

/// A stream as a number, which programs have in a `FILE *`.
class rex_stream {
public:
  explicit constexpr REX_DEVICE rex_stream(int number) : number_(number) {}
#ifdef REX_DEVICE_HOST
  template <typename File> rex_stream(File *file) : number_((const void *)file == (const void *)stderr ? 2 : 1) {}
  template <typename File> operator File *() const { return (File *)(void *)(is_of_errors() ? stderr : stdout); }
#else
  template <typename File>
  REX_DEVICE rex_stream(File *file) : number_(reinterpret_cast<uintptr_t>(file) == 2 ? 2 : 1) {}
  template <typename File> REX_DEVICE operator File *() const {
    return reinterpret_cast<File *>(static_cast<uintptr_t>(number_));
  }
#endif
  constexpr REX_DEVICE bool is_of_errors() const { return number_ == 2; }

private:
  int number_;
};
template <typename File> REX_DEVICE bool operator==(File *file, rex_stream stream) {
  return file == static_cast<File *>(stream);
}
template <typename File> REX_DEVICE bool operator!=(File *file, rex_stream stream) { return !(file == stream); }
#define rex_stdout rex_stream(1)
#define rex_stderr rex_stream(2)

template <typename... Values> REX_DEVICE int rex_fprintf(rex_stream stream, const char *format, Values... values) {
#ifdef REX_DEVICE_HOST
  return fprintf(stream.is_of_errors() ? stderr : stdout, format, values...);
#else
  (void)stream;
  return printf(format, values...);
#endif
}
REX_DEVICE int rex_fputs(const char *text, rex_stream stream) { return rex_fprintf(stream, "%s", text); }
REX_DEVICE int rex_fputc(int c, rex_stream stream) {
  rex_fprintf(stream, "%c", c);
  return static_cast<unsigned char>(c);
}
REX_DEVICE int rex_putc(int c, rex_stream stream) { return rex_fputc(c, stream); }
REX_DEVICE int rex_putchar(int c) { return rex_fputc(c, rex_stdout); }
REX_DEVICE int rex_puts(const char *text) { return rex_fprintf(rex_stdout, "%s\n", text); }
template <typename Stream> REX_DEVICE int rex_fflush(Stream) { return 0; }

/// An argument of `snprintf`, as the bits of an integer or an address, or as a number.
struct rex_printed {
  uint64_t bits;
  double number;
  template <typename Value> static REX_BOTH rex_printed of(Value value, std::true_type) {
    return {0, static_cast<double>(value)};
  }
  template <typename Value> static REX_BOTH rex_printed of(Value value, std::false_type) {
    return {(uint64_t)value, 0}; // with its sign in all bits
  }
};

/// Characters of which all are counted and those are written for which there is room.
struct rex_writer {
  char *to;
  size_t room, count;

  REX_BOTH void put(char c) {
    if (count + 1 < room) to[count] = c;
    ++count;
  }
  REX_BOTH void fill(char c, int times) {
    for (; times > 0; --times) put(c);
  }
  REX_BOTH void put_all(const char *text, int length) {
    for (int i = 0; i < length; ++i) put(text[i]);
  }
};

/// `%-+ #0width.precision`, and a letter.
struct rex_conversion {
  bool left, plus, space, alternative, zero;
  int width, precision;
  char letter;

  /// A field: a sign or prefix, zeros, and what `body` writes, `length` characters.
  template <typename Body>
  REX_BOTH void field(rex_writer &out, const char *sign, bool pads_with_zeros, int zeros, int length, Body body) const {
    const int written = static_cast<int>(rex_strlen(sign)) + zeros + length;
    const int padding = width - written;
    if (!left && !pads_with_zeros) out.fill(' ', padding);
    out.put_all(sign, static_cast<int>(rex_strlen(sign)));
    if (!left && pads_with_zeros) out.fill('0', padding);
    out.fill('0', zeros);
    body();
    if (left) out.fill(' ', padding);
  }
  REX_BOTH const char *sign_of(bool is_negative) const { return is_negative ? "-" : plus ? "+" : space ? " " : ""; }
};

inline __host__ __device__ void rex_put_integer(rex_writer &out, const rex_conversion &as, uint64_t bits) {
  const bool is_signed = as.letter == 'd' || as.letter == 'i';
  const bool is_negative = is_signed && bits >> 63;
  const unsigned base = as.letter == 'o' ? 8 : is_signed || as.letter == 'u' ? 10 : 16;
  const char *const letters = as.letter == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  const char *sign = is_signed ? as.sign_of(is_negative) : "";
  if (base == 16 && bits && (as.alternative || as.letter == 'p')) sign = as.letter == 'X' ? "0X" : "0x";
  if (is_negative) bits = 0 - bits;
  char digits[24];
  int first = sizeof digits;
  for (; bits; bits /= base) digits[--first] = letters[bits % base];
  const int length = static_cast<int>(sizeof digits) - first;
  int zeros = as.precision < 0 ? (length == 0) : as.precision > length ? as.precision - length : 0;
  if (base == 8 && as.alternative && zeros == 0) zeros = 1;
  as.field(out, sign, as.zero && as.precision < 0, zeros, length, [&] { out.put_all(digits + first, length); });
}

/// Drops the digits behind the first `kept`; the number is rounded, from the middle to an even one.
REX_BOTH void rex_keep_digits(rex_decimal &decimal, int kept) {
  if (kept >= decimal.count) return;
  if (kept < 0) {
    decimal.count = 0;
    return;
  }
  const bool is_middle = decimal.digits[kept] == 5 && decimal.count == kept + 1;
  const bool is_odd = kept > 0 && decimal.digits[kept - 1] % 2 == 1;
  bool carries = decimal.digits[kept] >= 5 && (!is_middle || is_odd);
  decimal.count = kept;
  for (int i = kept - 1; carries && i >= 0; --i) {
    carries = decimal.digits[i] == 9;
    decimal.digits[i] = static_cast<unsigned char>(carries ? 0 : decimal.digits[i] + 1);
  }
  if (carries) {
    decimal.count = 1;
    decimal.digits[0] = 1;
    ++decimal.point;
  }
  decimal.trim();
}

/// Digits of a number from the one of 10^`first` on, which are zeros where it has none.
REX_BOTH void rex_put_digits(rex_writer &out, const rex_decimal &decimal, int first, int count) {
  for (int i = 0; i < count; ++i) {
    const int idx = decimal.point - 1 - first + i;
    out.put(static_cast<char>('0' + (idx >= 0 && idx < decimal.count ? decimal.digits[idx] : 0)));
  }
}

/// `%f`, `%e` and `%g`, every digit exact.
inline __host__ __device__ void rex_put_number(rex_writer &out, const rex_conversion &as, double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  const char *const sign = as.sign_of(bits >> 63);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  uint64_t mantissa = bits & ((1ULL << 52) - 1);
  const char letter = static_cast<char>(rex_tolower(as.letter));
  const bool is_capital = letter != as.letter;
  if (exponent == 0x7ff) {
    const char *const word = mantissa ? (is_capital ? "NAN" : "nan") : (is_capital ? "INF" : "inf");
    as.field(out, sign, false, 0, 3, [&] { out.put_all(word, 3); });
    return;
  }
  if (exponent) mantissa |= 1ULL << 52;
  int power = (exponent ? exponent : 1) - 1075;
  rex_decimal decimal;
  decimal.count = 0;
  decimal.has_more = false;
  int n_digits = 0;
  for (uint64_t rest = mantissa; rest; rest /= 10) ++n_digits;
  decimal.point = n_digits;
  uint64_t unit = 1;
  for (int i = 1; i < n_digits; ++i) unit *= 10;
  for (int i = 0; i < n_digits; ++i, unit /= 10) decimal.append(static_cast<int>(mantissa / unit % 10));
  decimal.trim();
  for (; mantissa && power > 0; power -= power < 60 ? power : 60) decimal.twice(power < 60 ? power : 60);
  for (; mantissa && power < 0; power += -power < 60 ? -power : 60) decimal.halve(-power < 60 ? -power : 60);
  if (decimal.count == 0) decimal.point = 1;

  int behind = as.precision < 0 ? 6 : as.precision;
  bool has_exponent = letter == 'e';
  if (letter == 'g') {
    const int significant = behind == 0 ? 1 : behind;
    rex_keep_digits(decimal, significant);
    if (decimal.count == 0) decimal.point = 1;
    const int scale = decimal.point - 1;
    has_exponent = scale < -4 || scale >= significant;
    behind = significant - 1 - (has_exponent ? 0 : scale);
    const int needed = decimal.count - (has_exponent ? 1 : decimal.point);
    if (!as.alternative && behind > needed) behind = needed > 0 ? needed : 0;
  } else {
    rex_keep_digits(decimal, (has_exponent ? 1 : decimal.point) + behind);
    if (decimal.count == 0) decimal.point = 1;
  }
  const int scale = decimal.point - 1;
  const int before = has_exponent || scale < 0 ? 1 : scale + 1;
  const int first = has_exponent ? scale : before - 1;
  const bool has_point = behind > 0 || as.alternative;
  const int size = scale < 0 ? -scale : scale;
  const int length = before + (has_point ? 1 : 0) + behind + (has_exponent ? (size < 100 ? 4 : 5) : 0);
  as.field(out, sign, as.zero, 0, length, [&] {
    rex_put_digits(out, decimal, first, before);
    if (has_point) out.put('.');
    rex_put_digits(out, decimal, first - before, behind);
    if (!has_exponent) return;
    out.put(is_capital ? 'E' : 'e');
    out.put(scale < 0 ? '-' : '+');
    if (size >= 100) out.put(static_cast<char>('0' + size / 100));
    out.put(static_cast<char>('0' + size / 10 % 10));
    out.put(static_cast<char>('0' + size % 10));
  });
}

/// `%a`: the bits of a number in hexadecimal.
inline __host__ __device__ void rex_put_bits(rex_writer &out, const rex_conversion &as, double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  const bool is_capital = as.letter == 'A';
  const int encoded = static_cast<int>(bits >> 52 & 0x7ff);
  if (encoded == 0x7ff) return rex_put_number(out, as, number);
  uint64_t mantissa = (bits & ((1ULL << 52) - 1)) | (encoded ? 1ULL << 52 : 0);
  const int power = mantissa == 0 ? 0 : encoded ? encoded - 1023 : -1022;
  if (as.precision >= 0 && as.precision < 13) {
    const int dropped = 52 - 4 * as.precision;
    const uint64_t half = 1ULL << (dropped - 1), rest = mantissa & (2 * half - 1);
    mantissa >>= dropped;
    if (rest > half || (rest == half && mantissa % 2 == 1)) ++mantissa;
    mantissa <<= dropped;
  }
  int behind = as.precision;
  if (behind < 0)
    for (behind = 13; behind > 0 && (mantissa >> (52 - 4 * behind) & 15) == 0;) --behind;
  const bool has_point = behind > 0 || as.alternative;
  const int size = power < 0 ? -power : power;
  const int n_digits = size < 10 ? 1 : size < 100 ? 2 : size < 1000 ? 3 : 4;
  const char *const signs[2][3] = {{"0x", "+0x", " 0x"}, {"0X", "+0X", " 0X"}};
  const char *const negative = is_capital ? "-0X" : "-0x";
  const char *const sign = bits >> 63 ? negative : signs[is_capital][as.plus ? 1 : as.space ? 2 : 0];
  as.field(out, sign, as.zero, 0, 1 + (has_point ? 1 : 0) + behind + 2 + n_digits, [&] {
    const char *const letters = is_capital ? "0123456789ABCDEF" : "0123456789abcdef";
    out.put(letters[mantissa >> 52]);
    if (has_point) out.put('.');
    for (int i = 1; i <= behind; ++i) out.put(i > 13 ? '0' : letters[mantissa >> (52 - 4 * i) & 15]);
    out.put(is_capital ? 'P' : 'p');
    out.put(power < 0 ? '-' : '+');
    for (int i = n_digits, unit = n_digits == 4 ? 1000 : n_digits == 3 ? 100 : n_digits == 2 ? 10 : 1; i > 0; --i, unit /= 10)
      out.put(static_cast<char>('0' + size / unit % 10));
  });
}

/// The size of an integer that letters in front of a conversion say.
REX_BOTH int rex_printed_bytes(const char *size) {
  if (*size == 'h') return size[1] == 'h' ? 1 : 2;
  return *size && rex_strchr("lzjtqL", *size) ? 8 : 4;
}
REX_BOTH uint64_t rex_of_size(uint64_t bits, const char *size, bool is_signed) {
  const int bytes = rex_printed_bytes(size);
  const int unused = 64 - 8 * bytes;
  bits <<= unused;
  return is_signed ? static_cast<uint64_t>(static_cast<int64_t>(bits) >> unused) : bits >> unused;
}

/// Writes as `snprintf` does, but for wide characters.
inline __host__ __device__ int rex_print(char *to, size_t room, const char *format, const rex_printed *values) {
  rex_writer out = {to, room, 0};
  for (; *format; ++format) {
    if (*format != '%') {
      out.put(*format);
      continue;
    }
    rex_conversion as = {false, false, false, false, false, 0, -1, 0};
    for (++format;; ++format) {
      as.left = as.left || *format == '-';
      as.plus = as.plus || *format == '+';
      as.space = as.space || *format == ' ';
      as.alternative = as.alternative || *format == '#';
      as.zero = as.zero || *format == '0';
      if (!*format || !rex_strchr("-+ #0", *format)) break;
    }
    if (*format == '*') {
      ++format;
      as.width = static_cast<int>((values++)->bits);
      as.left = as.left || as.width < 0;
      if (as.width < 0) as.width = -as.width;
    }
    for (; rex_isdigit(*format); ++format) as.width = as.width * 10 + (*format - '0');
    if (*format == '.') {
      ++format;
      as.precision = 0;
      if (*format == '*') {
        ++format;
        as.precision = static_cast<int>((values++)->bits);
      }
      for (; rex_isdigit(*format); ++format) as.precision = as.precision * 10 + (*format - '0');
    }
    const char *const size = format;
    while (*format && rex_strchr("hlzjtqL", *format)) ++format;
    as.letter = *format;
    switch (*format) {
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      rex_put_integer(out, as, rex_of_size((values++)->bits, size, *format == 'd' || *format == 'i'));
      break;
    case 'p':
      if (values->bits) rex_put_integer(out, as, values->bits);
      else as.field(out, "", false, 0, 5, [&] { out.put_all("(nil)", 5); });
      ++values;
      break;
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
      rex_put_number(out, as, (values++)->number);
      break;
    case 'a':
    case 'A':
      rex_put_bits(out, as, (values++)->number);
      break;
    case 'n':
      memcpy(reinterpret_cast<void *>((values++)->bits), &out.count, static_cast<size_t>(rex_printed_bytes(size)));
      break;
    case 'c': {
      const char c = static_cast<char>((values++)->bits);
      as.field(out, "", false, 0, 1, [&] { out.put(c); });
      break;
    }
    case 's': {
      const char *const text = reinterpret_cast<const char *>((values++)->bits);
      const size_t limit = as.precision < 0 ? ~size_t(0) : static_cast<size_t>(as.precision);
      const int length = static_cast<int>(rex_strnlen(text, limit));
      as.field(out, "", false, 0, length, [&] { out.put_all(text, length); });
      break;
    }
    case 0:
      --format;
      break;
    default:
      out.put(*format);
    }
  }
  if (room > 0) to[out.count < room ? out.count : room - 1] = 0;
  return static_cast<int>(out.count);
}
template <typename... Values>
REX_BOTH int rex_snprintf(char *to, size_t room, const char *format, Values... values) {
  const rex_printed printed[] = {rex_printed::of(values, std::is_floating_point<Values>())..., rex_printed{0, 0}};
  return rex_print(to, room, format, printed);
}
template <typename... Values> REX_BOTH int rex_sprintf(char *to, const char *format, Values... values) {
  return rex_snprintf(to, ~size_t(0), format, values...);
}

// ---- Reductions -----------------------------------------------------------------------------------------
//
// rex_reduce<Operation>(target, value)             all threads of the grid into *target, once each, at their end
// rex_reduce_block<Operation>(target, value, n)    the first n threads of the block, by default all, into target;
//                                                  the value of target is there after the next barrier

#ifdef REX_DEVICE_HOST

template <typename Operation, typename Value> inline void rex_reduce(Value *target, Value value) {
  rex_combine<Operation>(target, value);
}

template <typename Operation, typename Value>
inline void rex_reduce_block(Value &target, Value value, unsigned = 0) {
  Operation::combine(target, value); // the threads of a block take turns
}

#else

/// A value of any size that `shuffle` brings from another lane, word by word.
template <typename Value, typename Shuffle>
REX_DEVICE Value rex_shuffled(const Value &value, Shuffle shuffle) {
  constexpr unsigned words = (sizeof(Value) + 3) / 4;
  unsigned word[words] = {};
  __builtin_memcpy(word, &value, sizeof value);
  for (unsigned i = 0; i < words; ++i) word[i] = shuffle(word[i]);
  return rex_from_bits<Value>(word);
}

/// The value of the lane `distance` above.
template <typename Value>
REX_DEVICE Value rex_from_lane_above(unsigned mask, const Value &value, unsigned distance) {
  return rex_shuffled(value, [=](unsigned word) { return __shfl_down_sync(mask, word, distance); });
}

/// The value of the lane `distance` below.
template <typename Value>
REX_DEVICE Value rex_from_lane_below(unsigned mask, const Value &value, unsigned distance) {
  return rex_shuffled(value, [=](unsigned word) { return __shfl_up_sync(mask, word, distance); });
}

/// Combines the values of the warp's first `lanes` threads; the first of them has the result.
template <typename Operation, typename Value>
REX_DEVICE void rex_reduce_warp(Value &value, unsigned lane, unsigned lanes) {
  const unsigned mask = lanes < 32 ? (1u << lanes) - 1 : ~0u;
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    const Value other = rex_from_lane_above(mask, value, distance);
    if (lane + distance < lanes) Operation::combine(value, other);
  }
}

/// Combines the values of the block's first `threads` threads; the first of them has the result.
template <typename Operation, typename Value>
REX_DEVICE void rex_reduce_to_first(Value &value, unsigned threads) {
  REX_SHARED_ROOM(Value, 32, partial);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = (threads + 31) / 32;
  const unsigned rest = threads - warp * 32;
  rex_reduce_warp<Operation>(value, lane, rest < 32 ? rest : 32);
  if (warps == 1) return;
  rex_barrier(threads); // the reader of the call before has read
  if (lane == 0) partial[warp] = value;
  rex_barrier(threads);
  if (threadIdx.x < warps) {
    value = partial[threadIdx.x];
    rex_reduce_warp<Operation>(value, lane, warps);
  }
}

template <typename Operation, typename Value> REX_DEVICE void rex_reduce(Value *target, Value value) {
  rex_reduce_to_first<Operation>(value, blockDim.x);
  if (threadIdx.x == 0) rex_combine<Operation>(target, value);
}

template <typename Operation, typename Value>
REX_DEVICE void rex_reduce_block(Value &target, Value value, unsigned threads = blockDim.x) {
  rex_reduce_to_first<Operation>(value, threads);
  if (threadIdx.x == 0) Operation::combine(target, value);
}

#endif

/// Combines the value of one thread alone.
template <typename Operation, typename Value> REX_DEVICE void rex_reduce_own(Value &target, Value value) {
  Operation::combine(target, value);
}

/// Combines the values of the threads of the innermost parallel region.
template <typename Operation, typename Value> REX_DEVICE void rex_reduce_team(Value &target, Value value) {
  const unsigned threads = rex_team_threads();
  if (threads > 1) {
    rex_reduce_block<Operation>(target, value, threads);
  } else {
    Operation::combine(target, value);
  }
}

// ---- Scans ----------------------------------------------------------------------------------------------
//
// rex_scan_inclusive<Operation>(before, value, n)  value becomes `before` combined with the values of the first n
// rex_scan_exclusive<Operation>(before, value, n)  threads up to the caller's own or without it; `before`, which all of
//                                                  them have, becomes what comes before the next ones

#ifdef REX_DEVICE_HOST

template <typename Operation, typename Value>
inline Value rex_scan_block(Value &before, const Value &value, unsigned threads) {
  REX_SHARED_ROOM(Value, 1025, values);
  rex_barrier(threads); // the readers of the call before have read
  values[threadIdx.x] = value;
  rex_barrier(threads);
  if (threadIdx.x == 0) {
    Value sum = before;
    for (unsigned i = 0; i < threads; ++i) {
      const Value own = values[i];
      values[i] = sum;
      Operation::combine(sum, own);
    }
    values[threads] = sum;
  }
  rex_barrier(threads);
  before = values[threads];
  return values[threadIdx.x];
}

#else

template <typename Operation, typename Value>
REX_DEVICE Value rex_scan_block(Value &before, const Value &value, unsigned threads) {
  REX_SHARED_ROOM(Value, 32, partial);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = (threads + 31) / 32;
  const unsigned rest = threads - warp * 32, lanes = rest < 32 ? rest : 32;
  const unsigned mask = lanes < 32 ? (1u << lanes) - 1 : ~0u;
  Value sum = value;
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    Value lower = rex_from_lane_below(mask, sum, distance);
    if (lane >= distance) {
      Operation::combine(lower, sum);
      sum = lower;
    }
  }
  const Value lower = rex_from_lane_below(mask, sum, 1);
  rex_barrier(threads); // the readers of the call before have read
  if (lane == lanes - 1) partial[warp] = sum;
  rex_barrier(threads);
  Value front = before;
  for (unsigned i = 0; i < warps; ++i) {
    if (i == warp) front = before;
    Operation::combine(before, partial[i]);
  }
  if (lane > 0) Operation::combine(front, lower);
  return front;
}

#endif

template <typename Operation, typename Value>
REX_DEVICE void rex_scan_exclusive(Value &before, Value &value, unsigned threads = blockDim.x) {
  if (threads < 2) {
    const Value front = before;
    Operation::combine(before, value);
    value = front;
  } else {
    value = rex_scan_block<Operation>(before, value, threads);
  }
}
template <typename Operation, typename Value>
REX_DEVICE void rex_scan_inclusive(Value &before, Value &value, unsigned threads = blockDim.x) {
  Value front = value;
  rex_scan_exclusive<Operation>(before, front, threads);
  Operation::combine(front, value);
  value = front;
}

// ---- Reductions of arrays -------------------------------------------------------------------------------

/// The first of the innermost elements of an array, behind a pointer, or of a view.
template <typename Value, typename Row> REX_DEVICE Value *rex_first(Row *rows) {
  return reinterpret_cast<Value *>(rows);
}
template <typename Value, int Rank> REX_DEVICE Value *rex_first(const rex_view<Value, Rank> &view) {
  return view.rex_base();
}

/// The operation of a reduction that a template declares: a class of its scope has its functions.
template <typename Declared> struct rex_declared {
  template <typename Value, typename... Original> static REX_DEVICE Value identity(const Original &...original) {
    Value value;
    Declared::initialize(value, original...);
    return value;
  }
  template <typename Value> static REX_DEVICE void combine(Value &into, const Value &from) {
    Declared::combine(into, from);
  }
};

/// Gives an accumulator, or each element of one, the identity.
template <typename Operation, typename Value> REX_DEVICE void rex_fill(Value &value) {
  value = Operation::template identity<Value>();
}
template <typename Operation, typename Row, size_t Rows> REX_DEVICE void rex_fill(Row (&rows)[Rows]) {
  for (size_t i = 0; i < Rows; ++i) rex_fill<Operation>(rows[i]);
}
/// The same where it depends on the original.
template <typename Operation, typename Value> REX_DEVICE void rex_fill(Value &value, const Value *original) {
  value = Operation::template identity<Value>(*original);
}
template <typename Operation, typename Row, size_t Rows, typename Value>
REX_DEVICE void rex_fill(Row (&rows)[Rows], const Value *original) {
  for (size_t i = 0; i < sizeof rows / sizeof(Value); ++i) rex_fill<Operation>(rex_first<Value>(rows)[i], original + i);
}

template <typename Operation, typename Value, typename Row, size_t Rows>
REX_DEVICE void rex_reduce(Value *target, Row (&rows)[Rows]) {
  for (size_t i = 0; i < sizeof rows / sizeof(Value); ++i)
    rex_reduce<Operation>(target + i, rex_first<Value>(rows)[i]);
}
template <typename Operation, typename Row, size_t Rows>
REX_DEVICE void rex_reduce_block(Row (&target)[Rows], Row (&rows)[Rows], unsigned threads = blockDim.x) {
  for (size_t i = 0; i < Rows; ++i) rex_reduce_block<Operation>(target[i], rows[i], threads);
}
template <typename Operation, typename Row, size_t Rows>
REX_DEVICE void rex_reduce_own(Row (&target)[Rows], Row (&rows)[Rows]) {
  for (size_t i = 0; i < Rows; ++i) rex_reduce_own<Operation>(target[i], rows[i]);
}
template <typename Operation, typename Row, size_t Rows>
REX_DEVICE void rex_reduce_team(Row (&target)[Rows], Row (&rows)[Rows]) {
  for (size_t i = 0; i < Rows; ++i) rex_reduce_team<Operation>(target[i], rows[i]);
}
template <typename Operation, typename Value, typename Row, size_t Rows>
REX_DEVICE void rex_combine(Value *target, Row (&rows)[Rows]) {
  for (size_t i = 0; i < sizeof rows / sizeof(Value); ++i)
    rex_combine<Operation>(target + i, rex_first<Value>(rows)[i]);
}

/// Memory that another thread may have to give back first.
REX_DEVICE void *rex_allocate(size_t bytes) {
#ifdef REX_DEVICE_HOST
  if (void *memory = __builtin_malloc(bytes)) return memory;
  __builtin_trap();
#else
  for (unsigned attempts = 0; attempts < 1u << 24; ++attempts)
    if (void *memory = malloc(bytes)) return memory;
  printf("rex: no memory on the device for the copy of an array that a reduction needs\n");
  asm volatile("trap;");
  return nullptr;
#endif
}
REX_DEVICE void rex_free(void *memory) {
#ifdef REX_DEVICE_HOST
  __builtin_free(memory);
#else
  free(memory);
#endif
}

/// An array of a thread whose size is known at run time.
template <typename Value> class rex_thread_array {
public:
  explicit REX_DEVICE rex_thread_array(int64_t count)
      : first_(static_cast<Value *>(rex_allocate(static_cast<size_t>(count) * sizeof(Value) + 1))) {}
  REX_DEVICE ~rex_thread_array() { rex_free(first_); }
  rex_thread_array(const rex_thread_array &) = delete;
  REX_DEVICE Value *first() const { return first_; }

private:
  Value *first_;
};

/// The same, one for all threads of the block: in the launch's dynamic shared memory behind the arrays before it, if the
/// launch has so much.
template <typename Value> class rex_team_array {
public:
  REX_DEVICE rex_team_array(int64_t count, uint64_t bytes_before)
      : is_shared_(bytes_before + rex_shared_bytes(size_of(count)) <= rex_dynamic_shared_size()) {
    first_ = is_shared_ ? reinterpret_cast<Value *>(rex_dynamic_shared<unsigned char>() + bytes_before)
                        : from_heap(count);
  }
  explicit REX_DEVICE rex_team_array(int64_t count) : is_shared_(false), first_(from_heap(count)) {}
  REX_DEVICE ~rex_team_array() {
    if (is_shared_) return;
    __syncthreads();
    if (threadIdx.x == 0) rex_free(first_);
  }
  rex_team_array(const rex_team_array &) = delete;
  REX_DEVICE Value *first() const { return first_; }

private:
  static REX_DEVICE uint64_t size_of(int64_t count) { return static_cast<uint64_t>(count) * sizeof(Value); }
  static REX_DEVICE Value *from_heap(int64_t count) {
    return rex_leader([&] { return static_cast<Value *>(rex_allocate(size_of(count) + 1)); });
  }

  bool is_shared_;
  Value *first_;
};

/// Where an array begins of which only the elements from `first` on, the one with this number, exist.
template <typename Value> REX_DEVICE Value *rex_before(Value *first, int64_t number) {
  const uintptr_t distance = static_cast<uintptr_t>(number) * sizeof(Value);
  return reinterpret_cast<Value *>(reinterpret_cast<uintptr_t>(first) - distance);
}
/// Memory that is used as a part of a larger array: compilers must not know how large it is.
REX_DEVICE void *rex_hidden(void *memory) {
#ifdef REX_DEVICE_HOST
  asm("" : "+r"(memory));
#endif
  return memory;
}

/// A thread's accumulators for `count` elements of an array from `offset` on; `original` if their first values depend on it.
template <typename Operation, typename Value> class rex_elements {
public:
  template <typename... Original>
  REX_DEVICE rex_elements(int64_t offset, int64_t count, const Original *...original) : offset_(offset), count_(count) {
    const size_t bytes = static_cast<size_t>(count) * sizeof(Value);
    first_ = static_cast<Value *>(rex_hidden(bytes <= sizeof few_ ? few_ : rex_allocate(bytes)));
    for (int64_t i = 0; i < count_; ++i) rex_fill<Operation>(first_[i], (original + offset + i)...);
  }
  REX_DEVICE ~rex_elements() {
    if (reinterpret_cast<unsigned char *>(first_) != few_) rex_free(first_);
  }
  rex_elements(const rex_elements &) = delete;

  /// Where the array would begin.
  REX_DEVICE Value *rex_base() const { return rex_before(first_, offset_); }

  /// Combines the copies of all threads of the grid.
  template <typename Array> REX_DEVICE void reduce(const Array &target) const {
    for (int64_t i = 0; i < count_; ++i)
      rex_combine<Operation>(rex_first<Value>(target) + offset_ + i, first_[i]);
  }
  /// Combines the copies of the block's first `threads` threads.
  REX_DEVICE void reduce_block(Value *target, unsigned threads = blockDim.x) const {
    for (int64_t i = 0; i < count_; ++i)
      rex_reduce_block<Operation>(target[offset_ + i], first_[i], threads);
  }
  /// Combines the copies of one thread alone.
  REX_DEVICE void reduce_own(Value *target) const {
    for (int64_t i = 0; i < count_; ++i) rex_reduce_own<Operation>(target[offset_ + i], first_[i]);
  }
  /// Combines the copies of the threads of the innermost parallel region.
  REX_DEVICE void reduce_team(Value *target) const {
    for (int64_t i = 0; i < count_; ++i) rex_reduce_team<Operation>(target[offset_ + i], first_[i]);
  }

private:
  __attribute__((aligned(16))) unsigned char few_[128];
  Value *first_;
  int64_t offset_, count_;
};

/// The same for a team: one copy, which the first thread keeps.
template <typename Operation, typename Value> class rex_team_elements {
public:
  template <typename... Original>
  REX_DEVICE rex_team_elements(int64_t offset, int64_t count, const Original *...original)
      : offset_(offset), count_(count) {
    void *memory = nullptr;
    if (threadIdx.x == 0) {
      memory = rex_allocate(static_cast<size_t>(count) * sizeof(Value) + 1);
      for (int64_t i = 0; i < count_; ++i)
        rex_fill<Operation>(static_cast<Value *>(memory)[i], (original + offset + i)...);
    }
    first_ = static_cast<Value *>(rex_hidden(rex_broadcast(memory)));
  }
  rex_team_elements(const rex_team_elements &) = delete;

  REX_DEVICE Value *rex_base() const { return rex_before(first_, offset_); }

  template <typename Array> REX_DEVICE void reduce(const Array &target) const {
    if (threadIdx.x != 0) return;
    for (int64_t i = 0; i < count_; ++i)
      rex_combine<Operation>(rex_first<Value>(target) + offset_ + i, first_[i]);
    rex_free(first_);
  }

private:
  Value *first_;
  int64_t offset_, count_;
};

#undef REX_SHARED_ROOM
