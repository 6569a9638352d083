#include "heat.h"

double conductivity = 0.125;

double moved(double here, double there) { return conductivity * (there - here); }

void heat_step(const double *from, double *to, int n) {
#pragma omp target teams distribute parallel for collapse(2)
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++) {
      double here = from[i * n + j];
      to[i * n + j] = here + moved(here, from[(i - 1) * n + j]) + moved(here, from[(i + 1) * n + j]) +
                      moved(here, from[i * n + j - 1]) + moved(here, from[i * n + j + 1]);
    }
}
