/* A failure leaves nothing behind: when the image appears (argument: where it is), the next call finds it.
 * REX_CUBIN_PATH names a file that does not exist. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"

int main(int argc, char **argv) {
  int value = 0;
  const char *missing = getenv("REX_CUBIN_PATH");
  rex_offload_init();
  CHECK(rex_offload_error() && strstr(rex_offload_error(), missing));
  CHECK(probe(&value) != 0 && value == 0);
  rex_offload_init();
  CHECK(rex_offload_error() != NULL);
  CHECK(argc == 2 && symlink(argv[1], missing) == 0);
  CHECK(probe(&value) == 0 && value == 1);
  CHECK(rex_offload_error() == NULL);
  unlink(missing);

  /* Two inits were counted, failed as they are. */
  rex_offload_fini();
  CHECK(probe(&value) == 0 && value == 2);
  rex_offload_fini();
  CHECK(probe(&value) != 0);
  puts(probe_failures ? "FAIL" : "PASS");
  return probe_failures != 0;
}
