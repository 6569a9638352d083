/* One kernel, launched the way lowered files launch: adds 1 (or STEP, see probe.cu) to an int. */
#ifndef PROBE_H
#define PROBE_H
#include <stdio.h>

#include "rex_kmp.h"

static char probe__id__;
static struct __tgt_offload_entry probe__omp_offload_entry__ REX_OFFLOAD_ENTRY =
    REX_KERNEL_ENTRY(probe__id__, "probe__kernel__");

/* 0: ran on the device. Otherwise *value is as before. */
static int probe(int *value) {
  void *items[] = {value}, *names[] = {REX_NAME("value")};
  int64_t sizes[] = {sizeof *value}, types[] = {0x23};
  struct __tgt_kernel_arguments launch = REX_KERNEL_ARGUMENTS(1, items, items, sizes, types, names, 1);
  return __tgt_target_kernel(REX_DEVICE_DEFAULT, 1, 1, &probe__id__, &launch);
}

static int probe_failures __attribute__((unused));
#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      probe_failures++;                                                                                      \
      printf("line %d is wrong: %s\n", __LINE__, #condition);                                                \
    }                                                                                                        \
  } while (0)

#endif
