/* A libcuda.so.1 with two GPUs, sm_90 and sm_80, that prints what is done to their contexts.
 * FAKE_CUDA_ACTIVE=1: the contexts exist already. */
#include <stdio.h>
#include <stdlib.h>

int cuInit(unsigned flags) { return flags != 0; }
int cuDeviceGetCount(int *count) { return *count = 2, 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  return *value = attribute == 75 ? 9 - device : 0, 0;
}
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  (void)device, *flags = 0, *active = getenv("FAKE_CUDA_ACTIVE") != NULL;
  return 0;
}
int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
  printf("flags of %d: %u\n", device, flags);
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
  printf("retained %d\n", device);
  return *context = NULL, 0;
}
