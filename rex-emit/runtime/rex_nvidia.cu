// rex_nvidia.cu: makes a device image from a device file.
//
//   nvcc -cubin -arch=sm_90 -DREX_DEVICE_SOURCE="\"rex_lib_x.cu\"" rex_nvidia.cu -o rex_lib_nvidia.cubin
//   g++ -x c++ -O2 -shared -fPIC -DREX_DEVICE_HOST -DREX_DEVICE_SOURCE="\"rex_lib_x.cu\"" rex_nvidia.cu
//       -Wl,-Bsymbolic -o rex_lib_nvidia.cubin
//
// For a GPU there is little to add. For LLVM's host device it adds what a GPU does in hardware: it runs the
// blocks of a grid on a few OS threads, and the threads of a block one after the other. In a kernel with
// barriers each of these threads has its own stack, and a barrier switches to the next one.
//
//   REX_HOST_THREADS   OS threads, default one per processor
//   REX_HOST_STACK     bytes of stack for a thread of a kernel with barriers, default 256 KiB

#define REX_NVIDIA_WORDS_ONLY
#include "rex_nvidia.h"
#undef REX_NVIDIA_WORDS_ONLY

#ifdef REX_DEVICE_HOST

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif

// An image of several device files has all this in each of its objects; the linker keeps one.
#define REX_ONE_OF_MANY __attribute__((weak))

#pragma GCC visibility push(hidden)

REX_ONE_OF_MANY thread_local rex_index threadIdx, blockIdx, blockDim, gridDim;

namespace rex_host {

[[noreturn]] inline void fail(const char *message) {
  std::fprintf(stderr, "rex: host device: %s\n", message);
  std::abort();
}

inline size_t environment_number(const char *name, size_t otherwise) {
  const char *text = std::getenv(name);
  const unsigned long long number = text ? std::strtoull(text, nullptr, 0) : 0;
  return number ? static_cast<size_t>(number) : otherwise;
}

// ---- Stacks ---------------------------------------------------------------------------------------------

/// Stacks for the threads of one block, each above a page that must not be touched.
class Stacks {
public:
  explicit Stacks(size_t count) : count_(count), page_bytes_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    const size_t asked = environment_number("REX_HOST_STACK", 256 * 1024);
    stack_bytes_ = (asked + page_bytes_ - 1) / page_bytes_ * page_bytes_;
    void *pages =
        mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) fail("no memory for the stacks of a block: lower REX_HOST_STACK");
    pages_ = static_cast<char *>(pages);
    for (size_t i = 0; i < count_; ++i) mprotect(stack(i) - page_bytes_, page_bytes_, PROT_NONE);
  }
  Stacks(const Stacks &) = delete;
  ~Stacks() { munmap(pages_, bytes()); }

  size_t count() const { return count_; }
  char *stack(size_t i) const { return pages_ + i * (stack_bytes_ + page_bytes_) + page_bytes_; }
  size_t stack_bytes() const { return stack_bytes_; }

  Stacks *next_free = nullptr;

private:
  size_t bytes() const { return count_ * (stack_bytes_ + page_bytes_); }

  size_t count_, page_bytes_, stack_bytes_;
  char *pages_;
};

/// Stacks that no block uses, kept for the next launch.
class StackPool {
public:
  ~StackPool() {
    while (Stacks *stacks = first_) {
      first_ = stacks->next_free;
      delete stacks;
    }
  }
  Stacks *take(size_t count) {
    {
      std::lock_guard<std::mutex> guard(lock_);
      for (Stacks **link = &first_; *link; link = &(*link)->next_free) {
        if ((*link)->count() < count) continue;
        Stacks *found = *link;
        *link = found->next_free;
        return found;
      }
    }
    return new Stacks(count);
  }
  void give_back(Stacks *stacks) {
    std::lock_guard<std::mutex> guard(lock_);
    stacks->next_free = first_;
    first_ = stacks;
  }

private:
  std::mutex lock_;
  Stacks *first_ = nullptr;
};

inline StackPool &stack_pool() {
  static StackPool pool;
  return pool;
}

// ---- Switching between stacks ---------------------------------------------------------------------------

#ifdef __x86_64__

/// Saves the registers that a call must keep on the running stack, and goes on where `to` was saved.
extern "C" void rex_host_switch(void **from, void *to);
__asm__(".pushsection .text.rex_host_switch, \"axG\", @progbits, rex_host_switch, comdat\n"
        ".weak rex_host_switch\n.hidden rex_host_switch\n.type rex_host_switch, @function\n"
        "rex_host_switch:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n"
        ".size rex_host_switch, . - rex_host_switch\n"
        ".popsection\n");

/// Where a thread waits: the top of its stack, below it the saved registers and the address to go on at.
class Context {
public:
  void prepare(char *stack, size_t bytes, void (*entry)()) {
    constexpr int kSavedRegisters = 6;
    void **top = reinterpret_cast<void **>(stack + bytes);
    *--top = nullptr; // where a return address would be
    *--top = reinterpret_cast<void *>(entry);
    for (int i = 0; i < kSavedRegisters; ++i) *--top = nullptr;
    top_ = top;
  }
  void switch_to(Context &other) { rex_host_switch(&top_, other.top_); }

private:
  void *top_ = nullptr;
};

#else

class Context {
public:
  void prepare(char *stack, size_t bytes, void (*entry)()) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack;
    context_.uc_stack.ss_size = bytes;
    context_.uc_link = nullptr;
    makecontext(&context_, entry, 0);
  }
  void switch_to(Context &other) { swapcontext(&context_, &other.context_); }

private:
  ucontext_t context_;
};

#endif

// ---- A grid and its blocks ------------------------------------------------------------------------------

/// One launch.
struct Grid {
  rex_kernel_kind kind;
  void (*thread)(const uint64_t *slots);
  const uint64_t *slots;
  uint64_t teams, threads, shared_bytes;
  std::atomic<uint64_t> next_team;
};

/// Threads that wait for each other; those that have returned no longer count.
struct Barrier {
  uint64_t members, waiting, generation;
  /// Whether one of those who wait said so, and one of those who waited before.
  bool said, answer;

  void release_if_full() {
    if (waiting < members) return;
    waiting = 0;
    answer = said;
    said = false;
    ++generation;
  }
};

/// The threads of a block that take turns on one OS thread, in a ring.
class Team {
public:
  explicit Team(const Grid &grid)
      : grid_(grid), threads_(grid.threads), warps_((grid.threads + 31) / 32),
        stacks_(stack_pool().take(grid.threads)) {}
  Team(const Team &) = delete;
  ~Team() { stack_pool().give_back(stacks_); }

  /// Runs all threads to their end.
  void run_block();
  bool wait_for_block(bool said) { return wait(block_, said); }
  void wait_for_warp() { wait(warps_[running_ / 32], false); }
  void let_next_run();

  /// The team that this OS thread runs; null in a kernel without barriers.
  static Team *&current() {
    static thread_local Team *team = nullptr;
    return team;
  }

private:
  struct Thread {
    Context context;
    uint64_t next, previous;
  };

  static void thread_entry();
  bool wait(Barrier &barrier, bool said);
  void leave();

  const Grid &grid_;
  std::vector<Thread> threads_;
  std::vector<Barrier> warps_;
  Barrier block_{};
  Context scheduler_;
  uint64_t running_ = 0;
  Stacks *stacks_;
};

inline void Team::run_block() {
  const uint64_t count = threads_.size();
  for (uint64_t i = 0; i < count; ++i) {
    threads_[i].context.prepare(stacks_->stack(i), stacks_->stack_bytes(), thread_entry);
    threads_[i].next = i + 1 < count ? i + 1 : 0;
    threads_[i].previous = i > 0 ? i - 1 : count - 1;
  }
  block_ = {count, 0, 0, false, false};
  for (uint64_t w = 0; w < warps_.size(); ++w)
    warps_[w] = {count - w * 32 < 32 ? count - w * 32 : 32, 0, 0, false, false};

  current() = this;
  running_ = 0;
  threadIdx.x = 0;
  scheduler_.switch_to(threads_[0].context);
  current() = nullptr;
}

inline void Team::thread_entry() {
  Team *team = current();
  team->grid_.thread(team->grid_.slots);
  team->leave();
}

inline void Team::let_next_run() {
  Thread &self = threads_[running_];
  if (self.next == running_) return;
  running_ = self.next;
  threadIdx.x = static_cast<unsigned>(running_);
  self.context.switch_to(threads_[running_].context);
}

inline bool Team::wait(Barrier &barrier, bool said) {
  const uint64_t generation = barrier.generation;
  ++barrier.waiting;
  barrier.said |= said;
  barrier.release_if_full();
  while (barrier.generation == generation) let_next_run();
  return barrier.answer;
}

/// Ends the running thread; does not return.
inline void Team::leave() {
  Thread &self = threads_[running_];
  for (Barrier *barrier : {&block_, &warps_[running_ / 32]}) {
    --barrier->members;
    if (barrier->members > 0) barrier->release_if_full();
  }
  if (block_.members == 0) self.context.switch_to(scheduler_);
  threads_[self.previous].next = self.next;
  threads_[self.next].previous = self.previous;
  running_ = self.next;
  threadIdx.x = static_cast<unsigned>(running_);
  self.context.switch_to(threads_[running_].context);
}

/// Dynamic shared memory of the running block.
struct SharedMemory {
  void *begin;
  uint64_t bytes;
};
inline SharedMemory &shared_memory() {
  static thread_local SharedMemory memory = {nullptr, 0};
  return memory;
}

/// Runs blocks of the grid until none is left.
inline void run_blocks(Grid &grid) {
  // 16-byte aligned, as the allocator gives it.
  std::vector<char> shared(grid.shared_bytes);
  shared_memory() = {shared.data(), grid.shared_bytes};
  gridDim = {static_cast<unsigned>(grid.teams), 1, 1};
  blockDim = {static_cast<unsigned>(grid.threads), 1, 1};
  threadIdx = {0, 0, 0};

  const bool take_turns = grid.kind == REX_TEAM && grid.threads > 1;
  Team *team = take_turns ? new Team(grid) : nullptr;
  for (uint64_t block; (block = grid.next_team.fetch_add(1)) < grid.teams;) {
    blockIdx = {static_cast<unsigned>(block), 0, 0};
    if (team) {
      team->run_block();
    } else {
      for (uint64_t thread = 0; thread < grid.threads; ++thread) {
        threadIdx.x = static_cast<unsigned>(thread);
        grid.thread(grid.slots);
      }
    }
  }
  delete team;
}

inline uint64_t processors() {
  static const uint64_t count = environment_number("REX_HOST_THREADS", std::thread::hardware_concurrency());
  return count ? count : 1;
}

} // namespace rex_host

REX_ONE_OF_MANY void rex_host_run(rex_kernel_kind kind, void (*thread)(const uint64_t *slots),
                                  const uint64_t *slots, uint64_t teams, uint64_t threads,
                                  uint64_t shared_bytes) {
  rex_host::Grid grid{kind, thread, slots, teams, threads, shared_bytes, {0}};
  const uint64_t workers = teams < rex_host::processors() ? teams : rex_host::processors();
  std::vector<std::thread> helpers;
  const auto start = [&] {
    for (uint64_t i = 1; i < workers; ++i) helpers.emplace_back([&grid] { rex_host::run_blocks(grid); });
  };
#ifdef __cpp_exceptions
  try {
    start();
  } catch (const std::system_error &) {
    // Fewer threads run the same blocks.
  }
#else
  start();
#endif
  rex_host::run_blocks(grid);
  for (std::thread &helper : helpers) helper.join();
}

REX_ONE_OF_MANY bool rex_host_barrier(bool said) {
  if (rex_host::Team *team = rex_host::Team::current()) return team->wait_for_block(said);
  if (blockDim.x > 1) rex_host::fail("a kernel declared REX_LOOP has a barrier");
  return said;
}

REX_ONE_OF_MANY void rex_host_warp_barrier() {
  if (rex_host::Team *team = rex_host::Team::current()) team->wait_for_warp();
}

REX_ONE_OF_MANY void rex_host_pause() {
  if (rex_host::Team *team = rex_host::Team::current()) team->let_next_run();
  sched_yield();
}

REX_ONE_OF_MANY void rex_host_look() {
  constexpr unsigned kLooks = 64; // a switch costs as much as a few of them
  static thread_local unsigned looks = 0;
  if (++looks % kLooks != 0) return;
  if (rex_host::Team *team = rex_host::Team::current()) team->let_next_run();
}

REX_ONE_OF_MANY void *rex_host_shared() { return rex_host::shared_memory().begin; }
REX_ONE_OF_MANY uint64_t rex_host_shared_bytes() { return rex_host::shared_memory().bytes; }

#pragma GCC visibility pop

// By this register_cubin.cpp knows that image and program agree.
#ifndef REX_LLVM_ABI
#define REX_LLVM_ABI 19
#endif
#define REX_PASTE(left, right) REX_PASTE_OF(left, right)
#define REX_PASTE_OF(left, right) left##right
extern "C" {
REX_ONE_OF_MANY __attribute__((visibility("default"))) char REX_PASTE(rex_image_for_LLVM_ABI_, REX_LLVM_ABI) = 0;
}

#endif // REX_DEVICE_HOST

#if defined(__CUDACC__) && !defined(__clang__)

// ---- The standard library of C++ --------------------------------------------------------------------------

#ifdef _GLIBCXX20_CONSTEXPR
// For what nvcc has included by now, such as std::swap, this may have been given as "of both sides". Algorithms should be so, too, but not
// containers: functions of both sides may not throw.
#if __has_include(<bits/stl_algo.h>)
#ifndef _ALGORITHMFWD_H
#define REX_STABLE_ALGORITHMS // which take memory for a while in the library, see below
#define stable_sort rex_host_stable_sort
#define inplace_merge rex_host_inplace_merge
#define stable_partition rex_host_stable_partition
#endif
#include <array>
#include <bits/refwrap.h>
#include <bits/stl_algo.h>
#include <bits/stl_numeric.h>
#include <tuple>
#if __cplusplus >= 201703L
#include <optional>
#endif
#ifdef REX_STABLE_ALGORITHMS
#undef stable_sort
#undef inplace_merge
#undef stable_partition
#endif
#if __cplusplus < 202002L
#pragma push_macro("_GLIBCXX20_CONSTEXPR")
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR
#include <unordered_map>
#include <vector>
#pragma pop_macro("_GLIBCXX20_CONSTEXPR")
#endif
#include <functional>
#include <numeric>
#endif
#undef _GLIBCXX20_CONSTEXPR
#if __cplusplus >= 202002L
#define _GLIBCXX20_CONSTEXPR constexpr
#else
#define _GLIBCXX20_CONSTEXPR
#endif
#endif

#ifdef REX_STABLE_ALGORITHMS

namespace std {

struct rex_less {
  template <typename Left, typename Right> __host__ __device__ bool operator()(const Left &left, const Right &right) const {
    return left < right;
  }
};

template <typename At, typename Less> __host__ __device__ void inplace_merge(At first, At middle, At last, Less less) {
  while (first != middle && middle != last) {
    if (!less(*middle, *first)) {
      ++first;
      continue;
    }
    // The elements behind the middle that belong in front of the first one.
    At end = middle;
    while (end != last && less(*end, *first)) ++end;
    auto n_moved = end - middle;
    std::rotate(first, middle, end);
    first += n_moved + 1;
    middle = end;
  }
}
template <typename At> __host__ __device__ void inplace_merge(At first, At middle, At last) {
  std::inplace_merge(first, middle, last, rex_less());
}

template <typename At, typename Less> __host__ __device__ void stable_sort(At first, At last, Less less) {
  auto length = last - first;
  for (decltype(length) width = 1; width < length; width *= 2)
    for (decltype(length) at = 0; at + width < length; at += 2 * width)
      std::inplace_merge(first + at, first + at + width, first + (at + 2 * width < length ? at + 2 * width : length), less);
}
template <typename At> __host__ __device__ void stable_sort(At first, At last) {
  std::stable_sort(first, last, rex_less());
}

template <typename At, typename Is> __host__ __device__ At stable_partition(At first, At last, Is is) {
  for (; first != last && is(*first); ++first) {
  }
  for (At at = first; at != last; ++at)
    if (is(*at)) {
      At next = at;
      std::rotate(first, at, ++next);
      ++first;
    }
  return first;
}

} // namespace std

#endif

#ifdef __GLIBCXX__

// Elements whose bytes may be copied: those of GCC 13 call a function of the host for a single one, and nvcc leaves out of device code
// all that does so, without a word.
namespace std {
struct rex_copies {
  template <typename From, typename To>
  static __host__ __device__ To *__copy_m(From *first, From *last, To *result) {
    for (; first != last; ++first, ++result) *result = *first;
    return result;
  }
};
struct rex_copies_backward {
  template <typename From, typename To>
  static __host__ __device__ To *__copy_move_b(From *first, From *last, To *result) {
    while (first != last) *--result = *--last;
    return result;
  }
};
template <> struct __copy_move<false, true, random_access_iterator_tag> : rex_copies {};
template <> struct __copy_move<true, true, random_access_iterator_tag> : rex_copies {};
template <> struct __copy_move_backward<false, true, random_access_iterator_tag> : rex_copies_backward {};
template <> struct __copy_move_backward<true, true, random_access_iterator_tag> : rex_copies_backward {};
} // namespace std

// GCC's std::complex is made of __complex__ numbers, whose arithmetic nvcc leaves out of device code without a word.
// This one stands in its place, laid out alike; the library's header finds that it is there.
#define _GLIBCXX_COMPLEX 1

#include <cmath>
#include <iosfwd>
#include <type_traits>

#define REX_PURE constexpr __host__ __device__ __forceinline__
#define REX_MATH __host__ __device__ __forceinline__
// constexpr functions of C++11 have one statement, and change nothing.
#if __cplusplus >= 201402L
#define REX_STEPS REX_PURE
#else
#define REX_STEPS REX_MATH
#endif

namespace std {

template <typename Real> class complex {
public:
  typedef Real value_type;
  REX_PURE complex(const Real &re = Real(), const Real &im = Real()) : re_(re), im_(im) {}
  template <typename Other, typename enable_if<(sizeof(Other) <= sizeof(Real)), int>::type = 0>
  REX_PURE complex(const complex<Other> &z) : re_(Real(z.real())), im_(Real(z.imag())) {}
  template <typename Other, typename enable_if<(sizeof(Other) > sizeof(Real)), int>::type = 0>
  explicit REX_PURE complex(const complex<Other> &z) : re_(Real(z.real())), im_(Real(z.imag())) {}

  REX_PURE Real real() const { return re_; }
  REX_PURE Real imag() const { return im_; }
  REX_STEPS void real(Real re) { re_ = re; }
  REX_STEPS void imag(Real im) { im_ = im; }

  REX_STEPS complex &operator=(const Real &re) { return *this = complex(re); }
  template <typename Other> REX_STEPS complex &operator=(const complex<Other> &z) {
    return *this = complex(Real(z.real()), Real(z.imag()));
  }
  REX_STEPS complex &operator+=(const Real &re) { return re_ += re, *this; }
  REX_STEPS complex &operator-=(const Real &re) { return re_ -= re, *this; }
  REX_STEPS complex &operator*=(const Real &re) { return re_ *= re, im_ *= re, *this; }
  REX_STEPS complex &operator/=(const Real &re) { return re_ /= re, im_ /= re, *this; }
  template <typename Other> REX_STEPS complex &operator+=(const complex<Other> &z) {
    return re_ += z.real(), im_ += z.imag(), *this;
  }
  template <typename Other> REX_STEPS complex &operator-=(const complex<Other> &z) {
    return re_ -= z.real(), im_ -= z.imag(), *this;
  }
  template <typename Other> REX_STEPS complex &operator*=(const complex<Other> &z) {
    return *this = complex(re_ * z.real() - im_ * z.imag(), re_ * z.imag() + im_ * z.real());
  }
  /// Divides by the larger part first, so that nothing overflows on the way.
  template <typename Other> REX_STEPS complex &operator/=(const complex<Other> &z) {
    const Real re = z.real(), im = z.imag();
    if ((re < 0 ? -re : re) >= (im < 0 ? -im : im)) {
      const Real part = im / re, whole = re + im * part;
      return *this = complex((re_ + im_ * part) / whole, (im_ - re_ * part) / whole);
    }
    const Real part = re / im, whole = re * part + im;
    return *this = complex((re_ * part + im_) / whole, (im_ * part - re_) / whole);
  }

private:
  Real re_, im_;
};

#define REX_OPERATOR(sign)                                                                                   \
  template <typename Real> REX_STEPS complex<Real> operator sign(const complex<Real> &a, const complex<Real> &b) {  \
    complex<Real> result = a;                                                                                \
    return result sign##= b;                                                                                 \
  }                                                                                                          \
  template <typename Real> REX_STEPS complex<Real> operator sign(const complex<Real> &a, const Real &b) {     \
    complex<Real> result = a;                                                                                \
    return result sign##= b;                                                                                 \
  }                                                                                                          \
  template <typename Real> REX_STEPS complex<Real> operator sign(const Real &a, const complex<Real> &b) {     \
    complex<Real> result = a;                                                                                \
    return result sign##= b;                                                                                 \
  }
REX_OPERATOR(+)
REX_OPERATOR(-)
REX_OPERATOR(*)
REX_OPERATOR(/)
#undef REX_OPERATOR
template <typename Real> REX_PURE complex<Real> operator+(const complex<Real> &z) { return z; }
template <typename Real> REX_PURE complex<Real> operator-(const complex<Real> &z) { return {-z.real(), -z.imag()}; }

template <typename Real> REX_PURE bool operator==(const complex<Real> &a, const complex<Real> &b) {
  return a.real() == b.real() && a.imag() == b.imag();
}
template <typename Real> REX_PURE bool operator==(const complex<Real> &a, const Real &b) {
  return a == complex<Real>(b);
}
template <typename Real> REX_PURE bool operator==(const Real &a, const complex<Real> &b) { return b == a; }
template <typename Real> REX_PURE bool operator!=(const complex<Real> &a, const complex<Real> &b) { return !(a == b); }
template <typename Real> REX_PURE bool operator!=(const complex<Real> &a, const Real &b) { return !(a == b); }
template <typename Real> REX_PURE bool operator!=(const Real &a, const complex<Real> &b) { return !(b == a); }

// The host's, in functions of headers that no kernel calls.
template <typename Real, typename Char, typename Traits>
basic_ostream<Char, Traits> &operator<<(basic_ostream<Char, Traits> &, const complex<Real> &);
template <typename Real, typename Char, typename Traits>
basic_istream<Char, Traits> &operator>>(basic_istream<Char, Traits> &, complex<Real> &);

/// The type of real numbers that a number takes part in arithmetic as.
template <typename Number> using rex_real = typename conditional<is_integral<Number>::value, double, Number>::type;
#define REX_OF_NUMBERS(Result) template <typename Number> REX_PURE typename enable_if<is_arithmetic<Number>::value, Result>::type
template <typename Real> REX_PURE Real real(const complex<Real> &z) { return z.real(); }
template <typename Real> REX_PURE Real imag(const complex<Real> &z) { return z.imag(); }
template <typename Real> REX_PURE Real norm(const complex<Real> &z) {
  return z.real() * z.real() + z.imag() * z.imag();
}
template <typename Real> REX_PURE complex<Real> conj(const complex<Real> &z) { return {z.real(), -z.imag()}; }
REX_OF_NUMBERS(rex_real<Number>) real(Number number) { return number; }
REX_OF_NUMBERS(rex_real<Number>) imag(Number) { return 0; }
REX_OF_NUMBERS(rex_real<Number>) norm(Number number) { return rex_real<Number>(number) * number; }
REX_OF_NUMBERS(complex<rex_real<Number>>) conj(Number number) { return rex_real<Number>(number); }
REX_OF_NUMBERS(complex<rex_real<Number>>) proj(Number number) { return rex_real<Number>(number); }
REX_OF_NUMBERS(rex_real<Number>) arg(Number number) { return number < 0 ? 3.14159265358979323846 : 0; }
#undef REX_OF_NUMBERS

template <typename Real> REX_MATH Real abs(const complex<Real> &z) { return hypot(z.real(), z.imag()); }
template <typename Real> REX_MATH Real arg(const complex<Real> &z) { return atan2(z.imag(), z.real()); }
template <typename Real> REX_MATH complex<Real> proj(const complex<Real> &z) {
  if (!isinf(z.real()) && !isinf(z.imag())) return z;
  return {Real(__builtin_huge_val()), copysign(Real(0), z.imag())};
}
template <typename Real> REX_MATH complex<Real> polar(const Real &size, const Real &angle = Real()) {
  return {size * cos(angle), size * sin(angle)};
}
template <typename Real> REX_MATH complex<Real> exp(const complex<Real> &z) { return polar<Real>(exp(z.real()), z.imag()); }
template <typename Real> REX_MATH complex<Real> log(const complex<Real> &z) { return {log(abs(z)), arg(z)}; }
template <typename Real> REX_MATH complex<Real> log10(const complex<Real> &z) {
  return log(z) / Real(2.30258509299404568402);
}
template <typename Real> REX_MATH complex<Real> sqrt(const complex<Real> &z) {
  if (z == Real()) return {0, z.imag()};
  const Real part = sqrt((fabs(z.real()) + abs(z)) / 2);
  if (z.real() >= 0) return {part, z.imag() / (2 * part)};
  return {fabs(z.imag()) / (2 * part), copysign(part, z.imag())};
}
template <typename Real> REX_MATH complex<Real> sinh(const complex<Real> &z) {
  return {sinh(z.real()) * cos(z.imag()), cosh(z.real()) * sin(z.imag())};
}
template <typename Real> REX_MATH complex<Real> cosh(const complex<Real> &z) {
  return {cosh(z.real()) * cos(z.imag()), sinh(z.real()) * sin(z.imag())};
}
template <typename Real> REX_MATH complex<Real> tanh(const complex<Real> &z) { return sinh(z) / cosh(z); }
// The inverse functions are Kahan's, who lets nothing cancel.
template <typename Real> REX_MATH complex<Real> asin(const complex<Real> &z) {
  const complex<Real> above = sqrt(Real(1) + z), below = sqrt(Real(1) - z);
  return {atan2(z.real(), (above * below).real()), asinh((conj(below) * above).imag())};
}
template <typename Real> REX_MATH complex<Real> acos(const complex<Real> &z) {
  const complex<Real> above = sqrt(Real(1) + z), below = sqrt(Real(1) - z);
  return {2 * atan2(below.real(), above.real()), asinh((conj(above) * below).imag())};
}
template <typename Real> REX_MATH complex<Real> acosh(const complex<Real> &z) {
  const complex<Real> above = sqrt(z + Real(1)), below = sqrt(z - Real(1));
  return {asinh((conj(below) * above).real()), 2 * atan2(below.imag(), above.real())};
}
template <typename Real> REX_MATH complex<Real> atanh(const complex<Real> &z) {
  const Real below = 1 - z.real(), size = z.imag() * z.imag();
  return {log1p(4 * z.real() / (below * below + size)) / 4,
          atan2(2 * z.imag(), below * (1 + z.real()) - size) / 2};
}
/// i z and z / i, which lead from the hyperbolic functions to the others.
template <typename Real> REX_PURE complex<Real> rex_times_i(const complex<Real> &z) { return {-z.imag(), z.real()}; }
template <typename Real> REX_PURE complex<Real> rex_over_i(const complex<Real> &z) { return {z.imag(), -z.real()}; }
template <typename Real> REX_MATH complex<Real> sin(const complex<Real> &z) { return rex_over_i(sinh(rex_times_i(z))); }
template <typename Real> REX_MATH complex<Real> cos(const complex<Real> &z) { return cosh(rex_times_i(z)); }
template <typename Real> REX_MATH complex<Real> tan(const complex<Real> &z) { return rex_over_i(tanh(rex_times_i(z))); }
template <typename Real> REX_MATH complex<Real> asinh(const complex<Real> &z) { return rex_over_i(asin(rex_times_i(z))); }
template <typename Real> REX_MATH complex<Real> atan(const complex<Real> &z) { return rex_over_i(atanh(rex_times_i(z))); }

template <typename A, typename B>
REX_MATH complex<typename common_type<A, B>::type> pow(const complex<A> &z, const complex<B> &power) {
  typedef complex<typename common_type<A, B>::type> Complex;
  if (z == A()) return power == B() ? Complex(1) : Complex(0);
  return exp(Complex(power) * log(Complex(z)));
}
// Real powers of positive numbers, and whole powers, are what they are for real numbers. An `int` does not make a double of a float, as in GCC.
template <typename Real> REX_STEPS complex<Real> pow(const complex<Real> &z, int power) {
  complex<Real> result = 1, square = z;
  for (unsigned left = power < 0 ? -unsigned(power) : power; left != 0; left /= 2, square *= square)
    if (left % 2 != 0) result *= square;
  return power < 0 ? Real(1) / result : result;
}
template <typename Real, typename Number, typename enable_if<is_arithmetic<Number>::value, int>::type = 0>
REX_MATH complex<typename common_type<Real, rex_real<Number>>::type> pow(const complex<Real> &z, const Number &power) {
  typedef typename common_type<Real, rex_real<Number>>::type Common;
  if (z.imag() == 0 && z.real() > 0) return pow(Common(z.real()), Common(power));
  return pow(z, complex<Common>(power));
}
template <typename Number, typename Real, typename enable_if<is_arithmetic<Number>::value, int>::type = 0>
REX_MATH complex<typename common_type<Real, rex_real<Number>>::type> pow(const Number &number, const complex<Real> &power) {
  typedef typename common_type<Real, rex_real<Number>>::type Common;
  if (!(number > 0)) return pow(complex<Common>(number), power);
  return polar<Common>(pow(Common(number), Common(power.real())), power.imag() * log(Common(number)));
}

inline namespace literals {
inline namespace complex_literals {
#pragma nv_diagnostic push
#pragma nv_diag_suppress 2506 // suffixes without an underscore are the library's
REX_PURE complex<double> operator""i(long double im) { return {0, double(im)}; }
REX_PURE complex<double> operator""i(unsigned long long im) { return {0, double(im)}; }
REX_PURE complex<float> operator""if(long double im) { return {0, float(im)}; }
REX_PURE complex<float> operator""if(unsigned long long im) { return {0, float(im)}; }
#pragma nv_diagnostic pop
} // namespace complex_literals
} // namespace literals

} // namespace std

#undef REX_PURE
#undef REX_STEPS
#undef REX_MATH

#endif // __GLIBCXX__
#endif // __CUDACC__

#ifdef REX_DEVICE_SOURCE
#ifndef _OPENMP // headers may declare types for OpenMP only
#define _OPENMP 201511
#endif
#include REX_DEVICE_SOURCE
#else
#include "rex_nvidia.h"
#endif
