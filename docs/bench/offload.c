#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <omp.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e6 + t.tv_nsec * 1e-3; }
#define REPS 200
#define TIME(name, body) do { for (int w_ = 0; w_ < 5; w_++) { body; } double t_ = now(); for (int r_ = 0; r_ < REPS; r_++) { body; } settle(y); printf("%-28s %10.2f us\n", name, (now() - t_) / REPS); } while (0)
/* Launches may be queued: waits for them. */
static void settle(float *y) {
#pragma omp target update from(y[0:1])
}
static void tiny(float *a, int n) {
#pragma omp target teams distribute parallel for
  for (int i = 0; i < n; i++) a[i] += 1.0f;
}
static void update(float *x) {
#pragma omp target update to(x[0:1024])
}
static void axpy(float *y, const float *x, float s, int n) {
#pragma omp target teams distribute parallel for
  for (int i = 0; i < n; i++) y[i] += s * x[i];
}
static double sum(const float *x, int n) {
  double s = 0;
#pragma omp target teams distribute parallel for reduction(+ : s) map(tofrom : s)
  for (int i = 0; i < n; i++) s += x[i];
  return s;
}
static void stencil(float *out, const float *in, int h, int w) {
#pragma omp target teams distribute parallel for collapse(2)
  for (int i = 1; i < h - 1; i++)
    for (int j = 1; j < w - 1; j++)
      out[i * w + j] = 0.25f * (in[(i - 1) * w + j] + in[(i + 1) * w + j] + in[i * w + j - 1] + in[i * w + j + 1]);
}
#define R 7
#define B 256
static void tile(const int *in, int *out, int n) {
#pragma omp target teams num_teams(n / B) thread_limit(B)
  {
    int t[B + 2 * R];
#pragma omp parallel num_threads(B)
    {
      int l = omp_get_thread_num(), g = omp_get_team_num() * B + l;
      t[l + R] = in[g + R];
      if (l < R) { t[l] = in[g]; t[l + R + B] = in[g + R + B]; }
#pragma omp barrier
      int s = 0;
      for (int o = -R; o <= R; o++) s += t[l + R + o];
      out[g] = s;
    }
  }
}
static void nested(const int *in, int *out, int rows, int cols) {
#pragma omp target teams distribute
  for (int i = 0; i < rows; i++) {
    int base = i * cols;
#pragma omp parallel for
    for (int j = 0; j < cols; j++) out[base + j] = in[base + j] * 2;
  }
}
int main(void) {
  int n = 1 << 24, h = 4096, w = 4096, m = 1 << 26;
  float *x = malloc(sizeof(float) * n), *y = malloc(sizeof(float) * n);
  int *a = malloc(sizeof(int) * (m + 2 * R)), *b = malloc(sizeof(int) * m);
  for (int i = 0; i < n; i++) { x[i] = i & 7; y[i] = 1; }
  for (int i = 0; i < m + 2 * R; i++) a[i] = i & 15;
  double t0 = now(), s = 0;
#pragma omp target data map(tofrom : x[0:n], y[0:n]) map(to : a[0 : m + 2 * R]) map(from : b[0:m])
  {
    printf("first data region %.1f ms\n", (now() - t0) / 1000);
    TIME("launch, 1024 elements", tiny(y, 1024));
    TIME("sum 2^20 floats", s = sum(x, 1 << 20));
    TIME("update to, 4 KiB", update(x));
    TIME("axpy 2^24 floats", axpy(y, x, 2.0f, n));
    TIME("sum 2^24 floats", s = sum(x, n));
    TIME("stencil 4096x4096 collapse(2)", stencil(y, x, h, w));
    TIME("tile stencil 2^26 ints", tile(a, b, m));
    TIME("rows 8192 x 2048", nested(a, b, 8192, 2048));
  }
  long long c = 0; for (int i = 0; i < m; i++) c += b[i];
  printf("sum %.1f check %lld %.3f\n", s, c, y[5000]);
  return 0;
}
