// rex_nvidia.h on the host, without LLVM: trip counts, views, atomic updates, collectives, the grid.
// Compiled as a program; prints PASS.
#include <complex>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <limits>
#include <omp.h>
#include <type_traits>
#include <vector>

#include "rex_nvidia.h"

static int failures;
#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      failures++;                                                                                            \
      printf("line %d is wrong: %s\n", __LINE__, #condition);                                                \
    }                                                                                                        \
  } while (0)

// ---- Trip counts: every pair of types, compared with the loop itself --------------------------------------

// Mixed signs are compared on purpose, as the source of a loop may.
#pragma GCC diagnostic ignored "-Wsign-compare"
template <typename From, typename To> static void check_trips_of(From from, To to) {
  for (int step = 1; step <= 3; step++) {
    const int64_t limit = 100000; // more means that the variable wraps: not a loop
    int64_t up = 0, up_equal = 0, down = 0, down_equal = 0;
    auto inside = [](int64_t value) {
      return value >= (std::is_signed<From>::value ? int64_t(std::numeric_limits<From>::min()) : 0) &&
             (sizeof(From) == 8 || value <= int64_t(std::numeric_limits<From>::max()));
    };
    int64_t i;
    for (i = from; up < limit && inside(i) && From(i) < to; i += step) up++;
    if (inside(i) && up < limit) CHECK(rex_trips_lt(from, to, step) == uint64_t(up));
    for (i = from; up_equal < limit && inside(i) && From(i) <= to; i += step) up_equal++;
    if (inside(i) && up_equal < limit) CHECK(rex_trips_le(from, to, step) == uint64_t(up_equal));
    for (i = from; down < limit && inside(i) && From(i) > to; i -= step) down++;
    if (inside(i) && down < limit) CHECK(rex_trips_gt(from, to, step) == uint64_t(down));
    for (i = from; down_equal < limit && inside(i) && From(i) >= to; i -= step) down_equal++;
    if (inside(i) && down_equal < limit) CHECK(rex_trips_ge(from, to, step) == uint64_t(down_equal));
  }
}

template <typename From, typename To> static void check_trips_between() {
  const int64_t values[] = {-130, -128, -5, -1, 0, 1, 2, 7, 100, 127, 128, 255, 256, 1000};
  for (int64_t from : values)
    for (int64_t to : values)
      if (int64_t(From(from)) == from && int64_t(To(to)) == to) check_trips_of(From(from), To(to));
}

template <typename From> static void check_trips_from() {
  check_trips_between<From, signed char>();
  check_trips_between<From, unsigned char>();
  check_trips_between<From, short>();
  check_trips_between<From, unsigned short>();
  check_trips_between<From, int>();
  check_trips_between<From, unsigned>();
  check_trips_between<From, long>();
  check_trips_between<From, unsigned long>();
  check_trips_between<From, long long>();
  check_trips_between<From, unsigned long long>();
}

static void check_trips() {
  check_trips_from<signed char>();
  check_trips_from<unsigned char>();
  check_trips_from<short>();
  check_trips_from<unsigned short>();
  check_trips_from<int>();
  check_trips_from<unsigned>();
  check_trips_from<long>();
  check_trips_from<unsigned long>();

  const int64_t lowest = INT64_MIN, highest = INT64_MAX;
  CHECK(rex_trips_lt(lowest, highest, 1) == UINT64_MAX);
  CHECK(rex_trips_lt(lowest, highest, 2) == UINT64_C(1) << 63);
  CHECK(rex_trips_lt(lowest, highest, highest) == 3);
  CHECK(rex_trips_gt(highest, lowest, 3) == UINT64_MAX / 3);
  CHECK(rex_trips_lt(0u, -1, 1) == UINT32_MAX); // compared as unsigned, as C does
  CHECK(rex_trips_lt(-1, 0u, 1) == 0);
  CHECK(rex_trips_lt(0, UINT64_C(5000000000), 1) == UINT64_C(5000000000));

  CHECK(rex_trips_ne(0, 10, 1) == 10);
  CHECK(rex_trips_ne(10, 0, -1) == 10);
  CHECK(rex_trips_ne(0, 0, 1) == 0);
  CHECK(rex_trips_ne(0, 12, 3) == 4);
  CHECK(rex_trips_ne(250u, 250u, 1) == 0);
  CHECK(rex_trips_ne(UINT32_MAX, 4u, 1) == 5);
  CHECK(rex_trips_ne((unsigned char)250, (unsigned char)4, 1) == 10);
  CHECK(rex_trips_ne((signed char)-128, 127, 1) == 255);
  CHECK(rex_trips_ne(4u, UINT32_MAX, -1) == 5);

  int array[20];
  CHECK(rex_trips_lt(array + 3, array + 20, 5) == 4);
  CHECK(rex_trips_lt(array + 20, array + 3, 5) == 0);
  CHECK(rex_trips_le(array, array + 4, 1) == 5);
  CHECK(rex_trips_gt(array + 9, array, 1) == 9);
  CHECK(rex_trips_ne(array + 9, array, -3) == 3);
  std::vector<double> v(7);
  CHECK(rex_trips_lt(v.begin(), v.end(), 2) == 4);
  CHECK(rex_trips_ne(v.begin(), v.end(), 1) == 7);
}

// ---- Views
// -------------------------------------------------------------------------------------------------

static int sum_of(const int *row, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) sum += row[i];
  return sum;
}

static void check_views() {
  int n = 3, m = 4;
  size_t k = 5;
  int flat[3 * 4 * 5];
  for (int i = 0; i < 60; i++) flat[i] = i;
  rex_view<int, 3> a(flat, n, m, k);
  CHECK(a[2][3][4] == 59);
  CHECK(a[1u][0L][(unsigned char)2] == 22);
  a[1][1][1] = -1;
  CHECK(flat[26] == -1);
  CHECK(sum_of(a[0][0], 5) == 10);
  CHECK(*a[0][1] == 5 && **a[2] == 40);
  int *row = a[1][2] + 1;
  CHECK(row[0] == 31);
  rex_view<int, 2> b(flat + 20, 0, 5);
  CHECK(b[1][0] == 25 && b[-1][0] == 15);
  rex_view<int, 1> c(flat, n);
  CHECK(c[59] == 59 && c == flat);
}

// ---- Atomic updates
// ----------------------------------------------------------------------------------------

struct wide {
  double a, b, c;
};
inline bool operator==(const wide &x, const wide &y) { return x.a == y.a && x.b == y.b && x.c == y.c; }

template <typename Value, typename Operand>
static void check_atomic_arithmetic(Value start, Operand operand) {
  struct {
    Value before, value, after; // neighbours that must not change
  } place;
#define CHECK_ATOMIC(name, expression)                                                                       \
  do {                                                                                                       \
    place = {start, start, start};                                                                           \
    Value value = start;                                                                                     \
    const Value expected = static_cast<Value>(expression);                                                   \
    CHECK(rex_atomic_##name(&place.value, operand) == start);                                                \
    CHECK(place.value == expected);                                                                          \
    CHECK(place.before == start && place.after == start);                                                    \
    (void)value;                                                                                             \
  } while (0)
  CHECK_ATOMIC(add, value + operand);
  CHECK_ATOMIC(sub, value - operand);
  CHECK_ATOMIC(mul, value * operand);
  CHECK_ATOMIC(div, value / operand);
  CHECK_ATOMIC(min, rex_less(operand, value) ? operand : value);
  CHECK_ATOMIC(max, rex_less(value, operand) ? operand : value);
  CHECK_ATOMIC(land, value && operand);
  CHECK_ATOMIC(lor, value || operand);
  CHECK_ATOMIC(exchange, operand);
}
template <typename Value, typename Operand> static void check_atomic_bits(Value start, Operand operand) {
  struct {
    Value before, value, after;
  } place;
  CHECK_ATOMIC(and, value & operand);
  CHECK_ATOMIC(or, value | operand);
  CHECK_ATOMIC(xor, value ^ operand);
  CHECK_ATOMIC(shl, value << operand);
  CHECK_ATOMIC(shr, value >> operand);
  check_atomic_arithmetic(start, operand);
}

static void check_atomics() {
  check_atomic_bits((signed char)-7, 3);
  check_atomic_bits((unsigned char)200, 3);
  check_atomic_bits((short)-700, 5l);
  check_atomic_bits((unsigned short)60000, 5u);
  check_atomic_bits(-7, 3);
  check_atomic_bits(-7, 3ull);
  check_atomic_bits(7u, -3 & 7);
  check_atomic_bits(-7000000000l, 3);
  check_atomic_bits(7000000000ull, 9);
  check_atomic_bits(-70ll, 9ll);
  check_atomic_arithmetic(1.5f, 2);
  check_atomic_arithmetic(1.5f, 2.25);
  check_atomic_arithmetic(1.5, 2.25f);
  check_atomic_arithmetic(1.5, 2);
  check_atomic_arithmetic(7, 2.5); // computed in double, then converted
  check_atomic_arithmetic(1.5L, 2.25L);

  int x = 5;
  rex_update<int> update = rex_atomic_apply(&x, [](int value) { return value * value; });
  CHECK(update.before == 5 && update.after == 25 && x == 25);
  rex_atomic_write(&x, 3.9);
  CHECK(rex_atomic_read(&x) == 3);
  wide w = {1, 2, 3};
  rex_atomic_apply(&w, [](wide value) { return wide{value.c, value.b, value.a}; });
  CHECK(rex_atomic_read(&w) == (wide{3, 2, 1}));
  std::complex<double> z(1, 2);
  CHECK(rex_atomic_add(&z, std::complex<double>(3, 4)) == std::complex<double>(1, 2));
  CHECK(z == std::complex<double>(4, 6));
}

static void check_identities() {
  CHECK(rex_min::identity<int>() == INT32_MAX && rex_max::identity<int>() == INT32_MIN);
  CHECK(rex_min::identity<unsigned>() == UINT32_MAX && rex_max::identity<unsigned>() == 0);
  CHECK(rex_min::identity<signed char>() == 127 && rex_max::identity<signed char>() == -128);
  CHECK(rex_min::identity<unsigned char>() == 255 && rex_max::identity<short>() == -32768);
  CHECK(rex_min::identity<long>() == INT64_MAX && rex_max::identity<long long>() == INT64_MIN);
  CHECK(rex_min::identity<unsigned long>() == UINT64_MAX);
  CHECK(rex_min::identity<float>() == std::numeric_limits<float>::infinity());
  CHECK(rex_max::identity<double>() == -std::numeric_limits<double>::infinity());
  CHECK(rex_min::identity<bool>() == true && rex_max::identity<bool>() == false);
  CHECK(rex_and::identity<unsigned short>() == 65535 && rex_and::identity<bool>() == true &&
        rex_and::identity<long>() == -1);
  CHECK(rex_mul::identity<std::complex<float>>() == std::complex<float>(1, 0));
  CHECK(rex_land::identity<double>() == 1 && rex_lor::identity<char>() == 0);
}

// ---- Grids
// -------------------------------------------------------------------------------------------------

REX_CRITICAL_LOCK(grid_lock);

extern "C" {

// Reductions of every width, by all threads of a grid at once.
__global__ void reduce_all(REX_LAUNCH_ENVIRONMENT long *sum, signed char *bits, double *high,
                           std::complex<double> *complex_sum, wide *unused) {
  rex_reduce<rex_add>(sum, (long)omp_get_thread_num());
  rex_reduce<rex_xor>(bits, (signed char)(1 << blockIdx.x % 7));
  rex_reduce<rex_max>(high, (double)(blockIdx.x * blockDim.x + threadIdx.x));
  rex_reduce<rex_add>(complex_sum, std::complex<double>(1, 2));
  (void)unused;
}
REX_KERNEL(reduce_all, 5, REX_LOOP)

// Threads that end at different barriers.
__global__ void leave_early(REX_LAUNCH_ENVIRONMENT int *out) {
  __shared__ int present;
  if (threadIdx.x == 0) present = 0;
  __syncthreads();
  for (unsigned round = 0; round <= threadIdx.x; round++) {
    __syncthreads();
    rex_atomic_add(&present, 1);
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = present;
}
REX_KERNEL(leave_early, 1, REX_TEAM)

// A lock that is held across a barrier of others, critical sections, warps that exchange values.
__global__ void locks(REX_LAUNCH_ENVIRONMENT omp_lock_t *lock, int *count, int *warp_sums) {
  __shared__ int values[96];
  omp_set_lock(lock);
  int seen = count[0];
  if (threadIdx.x % 3 == 0) rex_host_pause();
  count[0] = seen + 1;
  omp_unset_lock(lock);
  REX_CRITICAL(grid_lock) {
    int also = count[1];
    rex_host_pause();
    count[1] = also + 1;
  }
  values[threadIdx.x] = (int)threadIdx.x;
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    __syncwarp();
    int other = threadIdx.x % 32 + distance < 32 ? values[threadIdx.x + distance] : 0;
    __syncwarp();
    values[threadIdx.x] += other;
  }
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = values[threadIdx.x];
}
REX_KERNEL(locks, 3, REX_TEAM)

// The cost that matters: 256 threads, 20 barriers, 1,000 blocks.
__global__ void barriers(REX_LAUNCH_ENVIRONMENT int *out) {
  __shared__ int tile[256];
  for (int round = 0; round < 20; round++) {
    tile[threadIdx.x] = round;
    __syncthreads();
  }
  out[blockIdx.x] = tile[255];
}
REX_KERNEL(barriers, 1, REX_TEAM)

// A deep stack and a large frame for each thread.
__attribute__((noinline)) int depth(volatile int n) {
  volatile char frame[1000];
  frame[n % 1000] = 1;
  return n == 0 ? 0 : frame[n % 1000] + depth(n - 1);
}
__global__ void deep(REX_LAUNCH_ENVIRONMENT int *out) {
  __syncthreads();
  int levels = depth(150);
  __syncthreads();
  rex_atomic_add(out, levels);
}
REX_KERNEL(deep, 1, REX_TEAM)
}

#define AS_SLOT(pointer) ((uint64_t)(uintptr_t)(pointer))

static void check_grids() {
  long sum = 0;
  signed char bits = 0;
  double high = 0;
  std::complex<double> complex_sum;
  reduce_all__host_entry(0, AS_SLOT(&sum), AS_SLOT(&bits), AS_SLOT(&high), AS_SLOT(&complex_sum), AS_SLOT(0),
                         uint64_t(7), uint64_t(33), uint64_t(0));
  CHECK(sum == 7 * 33 * 32 / 2);
  CHECK(bits == 127);
  CHECK(high == 7 * 33 - 1);
  CHECK(complex_sum == std::complex<double>(7 * 33, 14 * 33));

  std::vector<int> out(4 * 50);
  leave_early__host_entry(0, AS_SLOT(out.data()), uint64_t(4), uint64_t(50), uint64_t(0));
  for (int t = 0, present = 0; t < 50; t++) {
    present += 50 - t; // in round t those with a number of at least t take part
    for (int block = 0; block < 4; block++) CHECK(out[block * 50 + t] == present);
  }

  omp_lock_t lock;
  int count[2] = {0, 0}, warp_sums[3];
  omp_init_lock(&lock);
  locks__host_entry(0, AS_SLOT(&lock), AS_SLOT(count), AS_SLOT(warp_sums), uint64_t(8), uint64_t(96),
                    uint64_t(0));
  CHECK(count[0] == 8 * 96);
  CHECK(count[1] == 8 * 96);
  CHECK(warp_sums[0] == 31 * 32 / 2 && warp_sums[1] == 32 * 32 + 31 * 32 / 2 &&
        warp_sums[2] == 64 * 32 + 31 * 32 / 2);

  std::vector<int> blocks(1000);
  const clock_t start = clock(); // processor time: the test may share the machine
  barriers__host_entry(0, AS_SLOT(blocks.data()), uint64_t(1000), uint64_t(256), uint64_t(0));
  const double seconds = double(clock() - start) / CLOCKS_PER_SEC;
  printf("256 threads x 20 barriers x 1,000 blocks: %.3f s\n", seconds);
  CHECK(seconds < 2);
  for (int value : blocks) CHECK(value == 19);

  int levels = 0;
  deep__host_entry(0, AS_SLOT(&levels), uint64_t(3), uint64_t(300), uint64_t(0));
  CHECK(levels == 3 * 300 * 150);
}

int main() {
  check_trips();
  check_views();
  check_atomics();
  check_identities();
  check_grids();
  puts(failures ? "FAIL" : "PASS");
  return failures != 0;
}
