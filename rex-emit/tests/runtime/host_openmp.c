/* OpenMP on the host by the host compiler, and kernels through libomptarget, in one program. */
#include "probe.h"

int omp_get_thread_num(void);

int main(void) {
  int sum = 0, wrong = 0, i;
  rex_offload_init();
#pragma omp parallel for reduction(+ : sum, wrong) num_threads(4)
  for (i = 0; i < 100; i++) {
    int value = i;
    wrong += probe(&value) != 0;
    sum += value;
  }
  CHECK(wrong == 0);
  CHECK(sum == 5050);
  puts(probe_failures ? "FAIL" : "PASS");
  return probe_failures != 0;
}
