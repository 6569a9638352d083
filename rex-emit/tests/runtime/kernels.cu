// The kernels of kernels.c, in the shape in which they are generated.
#include <math.h>
#include <stdio.h>

// Macros that user code has and the helper headers must survive.
#define N 100
#define T float
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min(a, b) ((a) < (b) ? (a) : (b))

struct point {
  double x, y, z;
};

#include "rex_nvidia.h"

struct merge_points {
  template <typename Value> static __device__ Value identity() { return Value{0, 0, 0}; }
  template <typename Value> static __device__ void combine(Value &out, const Value &in) {
    out.x += in.x;
    out.y += in.y;
    out.z = max(out.z, in.z);
  }
};

REX_CRITICAL_LOCK(count_lock);

extern "C" {

__device__ int counter = 5;
REX_GLOBAL(counter)

__global__ void axpy__kernel__(REX_LAUNCH_ENVIRONMENT double *y, double *x, uint64_t n__arg) {
  int n = rex_literal<int>(n__arg);
  uint64_t rex_trips = rex_trips_lt(0, n, 1);
  for (uint64_t rex_i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; rex_i < rex_trips;
       rex_i += (uint64_t)gridDim.x * blockDim.x) {
    int i = 0 + (int)rex_i;
    {
      y[i] += 2 * x[i];
    }
  }
}
REX_KERNEL(axpy__kernel__, 3, REX_LOOP)

__global__ void reductions__kernel__(REX_LAUNCH_ENVIRONMENT int *v, uint64_t n__arg, long *sum,
                                     unsigned *bits, int *low, float *high, long long *product, int *all,
                                     struct point *points, unsigned char *least, double *half) {
  int n = rex_literal<int>(n__arg);
  long my_sum = rex_add::identity<long>();
  unsigned my_bits = rex_xor::identity<unsigned>();
  int my_low = rex_min::identity<int>();
  float my_high = rex_max::identity<float>();
  long long my_product = rex_mul::identity<long long>();
  int my_all = rex_land::identity<int>();
  point my_points = merge_points::identity<point>();
  unsigned char my_least = rex_min::identity<unsigned char>();
  double my_half = rex_add::identity<double>();
  uint64_t rex_trips = rex_trips_lt(0, n, 1);
  for (uint64_t rex_i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; rex_i < rex_trips;
       rex_i += (uint64_t)gridDim.x * blockDim.x) {
    int i = 0 + (int)rex_i;
    my_sum += v[i];
    my_bits ^= (unsigned)v[i];
    my_low = min(my_low, v[i]);
    my_high = max(my_high, (float)v[i]);
    if (i < 40) my_product *= 1 + i % 2;
    my_all = my_all && v[i] >= 0;
    my_points.x += v[i];
    my_points.y += 1;
    my_points.z = max(my_points.z, v[i]);
    my_least = min(my_least, (unsigned char)(v[i] % 200 + 3));
    my_half += v[i] * 0.5;
  }
  rex_reduce<rex_add>(sum, my_sum);
  rex_reduce<rex_xor>(bits, my_bits);
  rex_reduce<rex_min>(low, my_low);
  rex_reduce<rex_max>(high, my_high);
  rex_reduce<rex_mul>(product, my_product);
  rex_reduce<rex_land>(all, my_all);
  rex_reduce<merge_points>(points, my_points);
  rex_reduce<rex_min>(least, my_least);
  rex_reduce<rex_add>(half, my_half);
}
REX_KERNEL(reductions__kernel__, 11, REX_LOOP)

// 256 threads, 20 times two barriers; some threads return before.
__global__ void team__kernel__(REX_LAUNCH_ENVIRONMENT int *out, int *seen) {
  __shared__ int tile[256];
  tile[threadIdx.x] = (int)(blockIdx.x + threadIdx.x);
  if (threadIdx.x >= 200) return;
  for (int round = 0; round < 20; round++) {
    __syncthreads();
    int neighbour = tile[(threadIdx.x + 1) % 200];
    __syncthreads();
    tile[threadIdx.x] = neighbour;
  }
  REX_CRITICAL(count_lock) { seen[0] += 1; }
  if (omp_get_thread_num() < 128) rex_atomic_add(&seen[1], 1);
  out[blockIdx.x * 200 + threadIdx.x] = tile[threadIdx.x];
}
REX_KERNEL(team__kernel__, 2, REX_TEAM)

__global__ void collectives__kernel__(REX_LAUNCH_ENVIRONMENT int *out) {
  int leader = rex_broadcast(omp_get_thread_num() + 7);
  __shared__ int threads, firsts[2];
  __shared__ point merged;
  double *shared = rex_dynamic_shared<double>();
  if (threadIdx.x == 0) {
    threads = 0;
    rex_fill<rex_add>(firsts);
    merged = merge_points::identity<point>();
    shared[15] = 0.5;
  }
  __syncthreads();
  rex_reduce_block<rex_add>(threads, 1);
  rex_reduce_block<merge_points>(merged, point{1, 2, (double)threadIdx.x});
  const unsigned few = rex_crew(blockDim.x / 2 - 3);
  if (threadIdx.x < few) {
    int mine[2] = {1, 0};
    rex_barrier(few);
    if (threadIdx.x == 0) firsts[1] = 5;
    rex_barrier(few);
    mine[1] = firsts[1];
    rex_barrier(few);
    rex_reduce_block<rex_add>(firsts, mine, few);
  }
  __syncthreads();
  const int crew = static_cast<int>(few);
  if (firsts[0] != crew || firsts[1] != 5 * crew + 5) return;
  if (shared[15] == 0.5 && merged.x == blockDim.x && merged.z == blockDim.x - 1)
    out[blockIdx.x * blockDim.x + threadIdx.x] = leader * 1000 + threads;
}
REX_KERNEL(collectives__kernel__, 1, REX_TEAM)

__global__ void literals__kernel__(REX_LAUNCH_ENVIRONMENT uint64_t c__arg, uint64_t s__arg, uint64_t i__arg,
                                   uint64_t l__arg, uint64_t f__arg, uint64_t d__arg, uint64_t b__arg,
                                   uint64_t p__arg, double *out, uint64_t e0__arg, uint64_t e1__arg,
                                   uint64_t e2__arg, uint64_t e3__arg) {
  out[0] = rex_literal<signed char>(c__arg);
  out[1] = rex_literal<short>(s__arg);
  out[2] = rex_literal<int>(i__arg);
  out[3] = (double)rex_literal<long>(l__arg);
  out[4] = rex_literal<float>(f__arg);
  out[5] = rex_literal<double>(d__arg);
  out[6] = rex_literal<bool>(b__arg);
  out[7] = rex_literal<char *>(p__arg) == nullptr;
  out[8] = (double)(e0__arg + 2 * e1__arg + 3 * e2__arg + 4 * e3__arg);
  out[9] = counter++;
  out[10] = sqrt(2.0);
}
REX_KERNEL(literals__kernel__, 13, REX_LOOP)

__global__ void scale__kernel__(REX_LAUNCH_ENVIRONMENT double *x, uint64_t n__arg) {
  int n = rex_literal<int>(n__arg);
  for (int i = 0; i < n; i++) x[i] *= 10;
}
REX_KERNEL(scale__kernel__, 2, REX_LOOP)

__global__ void nothing__kernel__(REX_LAUNCH_ENVIRONMENT_ALONE) {}
REX_KERNEL(nothing__kernel__, 0, REX_LOOP)
}
