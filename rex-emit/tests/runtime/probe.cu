#include "rex_nvidia.h"

#ifndef STEP
#define STEP 1
#endif

extern "C" {
__global__ void probe__kernel__(REX_LAUNCH_ENVIRONMENT int *value) { *value += STEP; }
REX_KERNEL(probe__kernel__, 1, REX_LOOP)
}
