/* Every call shape of lowered files, against the real runtime: kernels with and without arguments, literals
 * of all widths, 13 arguments 1,000 times, data regions (nested too), updates, a declare target variable,
 * device pointers. C and C++. Prints PASS. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "rex_kmp.h"

enum { N = 1000, TEAMS = 1000 };
enum {
  TO = 1,
  FROM = 2,
  TOFROM = 3,
  PARAMETER = 0x20,
  RETURN = 0x40,
  LITERAL = 0x120,
  IMPLICIT_LITERAL = 0x320
};

struct point {
  double x, y, z;
};

int counter = 5;

#define KERNEL(kernel)                                                                                       \
  static char kernel##__id__;                                                                                \
  static struct __tgt_offload_entry kernel##__omp_offload_entry__ REX_OFFLOAD_ENTRY =                        \
      REX_KERNEL_ENTRY(kernel##__id__, #kernel "__kernel__");
KERNEL(axpy)
KERNEL(reductions)
KERNEL(team)
KERNEL(collectives)
KERNEL(literals)
KERNEL(scale)
KERNEL(nothing)
static struct __tgt_offload_entry counter__omp_offload_entry__ REX_OFFLOAD_ENTRY =
    REX_GLOBAL_ENTRY(&counter, "counter", sizeof(counter), 0);

static int failures;
#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      failures++;                                                                                            \
      printf("line %d is wrong: %s\n", __LINE__, #condition);                                                \
    }                                                                                                        \
  } while (0)

static double x[N], y[N];

static void check_axpy(int teams, int threads) {
  int n = N, wrong = 0, i;
  for (i = 0; i < N; i++) x[i] = i, y[i] = 1;
  {
    void *n__arg = rex_literal(&n, sizeof(n));
    void *rex_bases[] = {y, x, n__arg};
    void *rex_begins[] = {&y[0], &x[0], n__arg};
    int64_t rex_sizes[] = {(int64_t)(n * sizeof(y[0])), (int64_t)(n * sizeof(x[0])), (int64_t)sizeof(n)};
    int64_t rex_types[] = {0x23, 0x21, 0x320};
    void *rex_names[] = {REX_NAME("y[0:n]"), REX_NAME("x[0:n]"), REX_NAME("n")};
    struct __tgt_kernel_arguments rex_launch =
        REX_KERNEL_ARGUMENTS(3, rex_bases, rex_begins, rex_sizes, rex_types, rex_names, rex_trips(n, 1));
    CHECK(__tgt_target_kernel(REX_DEVICE_DEFAULT, teams, threads, &axpy__id__, &rex_launch) == 0);
  }
  for (i = 0; i < N; i++) wrong += y[i] != 1 + 2.0 * i;
  CHECK(wrong == 0);
}

static void check_reductions(void) {
  static int v[N];
  int n = N, i;
  long sum = 5, sum0 = 5;
  unsigned bits = 3, bits0 = 3;
  int low = 1 << 20, low0 = 1 << 20, all = 1;
  float high = -7, high0 = -7;
  long long product = 3, product0 = 3;
  struct point points = {1, 2, 3}, points0 = {1, 2, 3};
  unsigned char least = 250, least0 = 250;
  double half = 1, half0 = 1;
  for (i = 0; i < N; i++) {
    unsigned char small;
    v[i] = (i * 37) % 1009;
    small = (unsigned char)(v[i] % 200 + 3);
    sum0 += v[i];
    bits0 ^= (unsigned)v[i];
    if (v[i] < low0) low0 = v[i];
    if ((float)v[i] > high0) high0 = (float)v[i];
    if (i < 40) product0 *= 1 + i % 2;
    points0.x += v[i];
    points0.y += 1;
    if (v[i] > points0.z) points0.z = v[i];
    if (small < least0) least0 = small;
    half0 += v[i] * 0.5;
  }
  {
    void *n__arg = rex_literal(&n, sizeof(n));
    void *items[] = {v, n__arg, &sum, &bits, &low, &high, &product, &all, &points, &least, &half};
    int64_t sizes[] = {sizeof v,       sizeof n,   sizeof sum,    sizeof bits,  sizeof low, sizeof high,
                       sizeof product, sizeof all, sizeof points, sizeof least, sizeof half};
    int64_t types[] = {0x21, IMPLICIT_LITERAL, 0x23, 0x23, 0x23, 0x23, 0x23, 0x23, 0x23, 0x23, 0x23};
    struct __tgt_kernel_arguments launch = REX_KERNEL_ARGUMENTS(11, items, items, sizes, types, NULL, N);
    CHECK(__tgt_target_kernel(REX_DEVICE_DEFAULT, 7, 100, &reductions__id__, &launch) == 0);
  }
  CHECK(sum == sum0);
  CHECK(bits == bits0);
  CHECK(low == low0);
  CHECK(high == high0);
  CHECK(product == product0);
  CHECK(all == 1);
  CHECK(points.x == points0.x && points.y == points0.y && points.z == points0.z);
  CHECK(least == least0);
  CHECK(half == half0);
}

static void check_teams(void) {
  static int out[TEAMS * 200], small[3 * 70];
  int seen[2] = {0, 0}, wrong = 0, team, i;
  {
    void *items[] = {out, seen};
    int64_t sizes[] = {sizeof out, sizeof seen}, types[] = {0x23, 0x23};
    struct __tgt_kernel_arguments launch = REX_KERNEL_ARGUMENTS(2, items, items, sizes, types, NULL, 0);
    CHECK(__tgt_target_kernel(REX_DEVICE_DEFAULT, TEAMS, 256, &team__id__, &launch) == 0);
  }
  for (team = 0; team < TEAMS; team++)
    for (i = 0; i < 200; i++) wrong += out[team * 200 + i] != team + (i + 20) % 200;
  CHECK(wrong == 0);
  CHECK(seen[0] == TEAMS * 200);
  CHECK(seen[1] == TEAMS * 128);
  {
    void *items[] = {small};
    int64_t sizes[] = {sizeof small}, types[] = {0x23};
    struct __tgt_kernel_arguments launch = REX_KERNEL_ARGUMENTS(1, items, items, sizes, types, NULL, 0);
    launch.DynCGroupMem = 128;
    CHECK(__tgt_target_kernel(REX_DEVICE_DEFAULT, 3, 70, &collectives__id__, &launch) == 0);
  }
  for (i = 0; i < 3 * 70; i++) wrong += small[i] != 7070;
  CHECK(wrong == 0);
}

static void check_literals(void) {
  signed char c = -3;
  short s = -300;
  int i = -70000, k;
  long l = -5000000000;
  float f = 1.5f;
  double d = -2.25, out[11] = {0};
  bool b = true;
  char *p = NULL;
  uint64_t e[] = {9, 10, 11, 12};
  const double expected[] = {-3, -300, -70000, -5e9, 1.5, -2.25, 1, 1, 9 + 20 + 33 + 48, 1004, sqrt(2.0)};
  void *items[] = {rex_literal(&c, sizeof c), rex_literal(&s, sizeof s), rex_literal(&i, sizeof i),
                   rex_literal(&l, sizeof l), rex_literal(&f, sizeof f), rex_literal(&d, sizeof d),
                   rex_literal(&b, sizeof b), rex_literal(&p, sizeof p), out,
                   rex_literal(&e[0], 8),     rex_literal(&e[1], 8),     rex_literal(&e[2], 8),
                   rex_literal(&e[3], 8)};
  int64_t sizes[] = {1, 2, 4, 8, 4, 8, 1, 8, sizeof out, 8, 8, 8, 8};
  int64_t types[] = {LITERAL, LITERAL, IMPLICIT_LITERAL, LITERAL, LITERAL, LITERAL, LITERAL,
                     LITERAL, 0x23,    LITERAL,          LITERAL, LITERAL, LITERAL};
  struct __tgt_kernel_arguments launch = REX_KERNEL_ARGUMENTS(13, items, items, sizes, types, NULL, 1);
  for (k = 0; k < 1000; k++)
    CHECK(__tgt_target_kernel(REX_DEVICE_DEFAULT, 1, 1, &literals__id__, &launch) == 0);
  for (k = 0; k < 11; k++) CHECK(out[k] == expected[k]);
  {
    void *items2[] = {&counter};
    int64_t sizes2[] = {sizeof counter}, from[] = {FROM};
    __tgt_target_data_update(REX_DEVICE_DEFAULT, 1, items2, items2, sizes2, from, NULL);
    CHECK(counter == 1005);
  }
}

static void scale(double *device_x, int n, int64_t type, int64_t size) {
  void *items[] = {device_x, rex_literal(&n, sizeof n)};
  int64_t sizes[] = {size, sizeof n}, types[] = {type, IMPLICIT_LITERAL};
  struct __tgt_kernel_arguments launch = REX_KERNEL_ARGUMENTS(2, items, items, sizes, types, NULL, 1);
  CHECK(__tgt_target_kernel(REX_DEVICE_DEFAULT, 1, 1, &scale__id__, &launch) == 0);
}

static void check_data(void) {
  void *bases[] = {x}, *begins[] = {x}, *names[] = {REX_NAME("x")};
  int64_t sizes[] = {sizeof x}, with_pointer[] = {TOFROM | RETURN}, to[] = {TO}, from[] = {FROM},
          tofrom[] = {TOFROM};
  double *device_x;
  int i;
  for (i = 0; i < N; i++) x[i] = i;
  __tgt_target_data_begin(REX_DEVICE_DEFAULT, 1, bases, begins, sizes, with_pointer, names);
  device_x = (double *)bases[0];
  bases[0] = x;
  CHECK(device_x != x);

  scale(device_x, N, LITERAL, 0); /* is_device_ptr */
  CHECK(x[3] == 3);
  __tgt_target_data_update(REX_DEVICE_DEFAULT, 1, bases, begins, sizes, from, names);
  CHECK(x[3] == 30);
  x[4] = -1;
  __tgt_target_data_update(REX_DEVICE_DEFAULT, 1, bases, begins, sizes, to, names);

  /* An inner region of the same data copies nothing, and neither does a launch. */
  x[5] = -5;
  __tgt_target_data_begin(REX_DEVICE_DEFAULT, 1, bases, begins, sizes, tofrom, names);
  scale(x, N, TOFROM | PARAMETER, sizeof x);
  __tgt_target_data_end(REX_DEVICE_DEFAULT, 1, bases, begins, sizes, tofrom, names);
  CHECK(x[3] == 30 && x[5] == -5);

  __tgt_target_data_end(REX_DEVICE_DEFAULT, 1, bases, begins, sizes, tofrom, names);
  CHECK(x[3] == 300 && x[4] == -10 && x[5] == 500);
}

int main(void) {
  rex_offload_init();
  check_axpy(0, 0);
  check_axpy(3, 0);
  check_axpy(0, 64);
  check_reductions();
  check_teams();
  check_literals();
  check_data();
  {
    struct __tgt_kernel_arguments launch = REX_KERNEL_ARGUMENTS(0, NULL, NULL, NULL, NULL, NULL, 0);
    CHECK(__tgt_target_kernel(REX_DEVICE_DEFAULT, 0, 0, &nothing__id__, &launch) == 0);
  }
  CHECK(rex_offload_error() == NULL);
  puts(failures ? "FAIL" : "PASS");
  return failures != 0;
}
