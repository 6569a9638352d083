/* Data regions and no kernel: the table of entries is empty, the image is registered all the same. */
#include <stdio.h>

#include "rex_kmp.h"

int main(void) {
  double x[10] = {1};
  void *bases[] = {x}, *begins[] = {x};
  int64_t sizes[] = {sizeof x}, types[] = {0x43};
  int on_device;
  rex_offload_init();
  __tgt_target_data_begin(REX_DEVICE_DEFAULT, 1, bases, begins, sizes, types, NULL);
  on_device = bases[0] != x;
  bases[0] = x;
  x[0] = 2;
  __tgt_target_data_end(REX_DEVICE_DEFAULT, 1, bases, begins, sizes, types, NULL);
  puts(on_device && x[0] == 1 ? "PASS" : "FAIL");
  return 0;
}
