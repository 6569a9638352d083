/* Registers an image and does nothing else. */
#include "probe.h"

int main(void) {
  (void)probe;
  rex_offload_init();
  return 0;
}
