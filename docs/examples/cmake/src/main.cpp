#include "heat.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

// The same on the host, for comparison.
static void host_step(const std::vector<double> &from, std::vector<double> &to, int n) {
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++) {
      double here = from[i * n + j];
      to[i * n + j] = here + 0.25 * ((from[(i - 1) * n + j] - here) + (from[(i + 1) * n + j] - here) +
                                     (from[i * n + j - 1] - here) + (from[i * n + j + 1] - here));
    }
}

int main(int argc, char **argv) {
  int n = argc > 1 ? std::atoi(argv[1]) : 256, n_steps = argc > 2 ? std::atoi(argv[2]) : 100;
  std::vector<double> start(n * n, 0.0), host, host_next;
  for (int i = 0; i < n; i++)
    start[i] = 100;
  std::vector<double> plate = start, next = start;
  double *a = plate.data(), *b = next.data();

  conductivity = 0.25;
#pragma omp target update to(conductivity)
  double distance = 0;
#pragma omp target data map(tofrom : a[0 : n * n]) map(alloc : b[0 : n * n])
  {
#pragma omp target update to(b[0 : n * n])
    for (int step = 0; step < n_steps; step += 2) {
      heat_step(a, b, n);
      heat_step(b, a, n);
    }
    distance = heat_distance(a, b, n * n);
  }

  host = host_next = start;
  for (int step = 0; step < n_steps; step++) {
    host_step(host, host_next, n);
    host.swap(host_next);
  }
  double error = 0;
  for (int i = 0; i < n * n; i++)
    error = std::fmax(error, std::fabs(host[i] - plate[i]));
  std::printf("%s: last step changed %g\n", error < 1e-9 ? "PASS" : "FAIL", distance);
  return error < 1e-9 ? 0 : 1;
}
