/* What a program pays for offloading that it hardly uses: data regions, and kernels `argv[1]` times (0).
 * Prints milliseconds: from the start of the process's own code to the first statement of main, the data
 * regions, and all of it. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e3 + t.tv_nsec * 1e-6; }
static double begin;
__attribute__((constructor(101))) static void note_begin(void) { begin = now(); }
int main(int argc, char **argv) {
  double first = now();
  int niter = argc > 1 ? atoi(argv[1]) : 0, n = 1 << 20;
  double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
  for (int i = 0; i < n; i++) a[i] = i, b[i] = 0;
  double region = now();
#pragma omp target data map(to : a[0:n]) map(tofrom : b[0:n])
  {
#pragma omp target data map(from : b[0:n])
    for (int k = 0; k < niter; k++) {
#pragma omp target teams distribute parallel for
      for (int i = 0; i < n; i++) b[i] += a[i];
    }
  }
  double end = now();
  printf("first %.3f regions %.3f all %.3f\n", first - begin, end - region, end - begin);
  return 0;
}
