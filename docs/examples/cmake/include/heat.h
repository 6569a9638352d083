#ifndef HEAT_H
#define HEAT_H

#ifdef __cplusplus
extern "C" {
#endif

/* One step of heat conduction on an n by n plate; both plates are on the device. */
void heat_step(const double *from, double *to, int n);

#pragma omp declare target
/* How much of a difference moves on in one step. */
extern double conductivity;
double moved(double here, double there);
#pragma omp end declare target

/* The greatest difference between two plates that are on the device. */
double heat_distance(const double *a, const double *b, int n_cells);

#ifdef __cplusplus
}
#endif
#endif
