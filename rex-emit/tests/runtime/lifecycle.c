/* Init and fini are counted; after the last fini a call gets an error; init works again. */
#include <string.h>

#include "probe.h"

int omp_get_num_devices(void);

int main(void) {
  int value = 0, i;
  void *bases[] = {&value}, *begins[] = {&value};
  int64_t sizes[] = {sizeof value}, types[] = {0x43};

  rex_offload_init();
  rex_offload_init();
  CHECK(probe(&value) == 0 && value == 1);
  rex_offload_fini();
  CHECK(probe(&value) == 0 && value == 2);
  rex_offload_fini();

  CHECK(probe(&value) != 0 && value == 2);
  CHECK(rex_offload_error() && strstr(rex_offload_error(), "after the last rex_offload_fini"));
  __tgt_target_data_begin(REX_DEVICE_DEFAULT, 1, bases, begins, sizes, types, NULL);
  CHECK(bases[0] == &value);
  __tgt_target_data_update(REX_DEVICE_DEFAULT, 1, bases, begins, sizes, types, NULL);
  __tgt_target_data_end(REX_DEVICE_DEFAULT, 1, bases, begins, sizes, types, NULL);
  CHECK(omp_get_num_devices() >= 0); /* crashes in LLVM 19 when the runtime is gone */
  rex_offload_fini();                /* one too many does no harm */

  for (i = 0; i < 20; i++) {
    value = i;
    rex_offload_init();
    CHECK(rex_offload_error() == NULL);
    CHECK(probe(&value) == 0 && value == i + 1);
    rex_offload_fini();
    CHECK(probe(&value) != 0);
  }
  puts(probe_failures ? "FAIL" : "PASS");
  return probe_failures != 0;
}
