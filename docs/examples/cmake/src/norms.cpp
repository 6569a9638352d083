#include "heat.h"

namespace {
template <typename T> T magnitude(T value) { return value < 0 ? -value : value; }
} // namespace

double heat_distance(const double *a, const double *b, int n_cells) {
  double distance = 0;
#pragma omp target teams distribute parallel for reduction(max : distance) map(tofrom : distance)
  for (int i = 0; i < n_cells; i++) {
    double difference = magnitude(a[i] - b[i]);
    distance = difference > distance ? difference : distance;
  }
  return distance;
}
