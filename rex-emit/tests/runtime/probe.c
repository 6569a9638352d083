/* Says where the kernel ran, and why not on the device. */
#include "probe.h"

int main(void) {
  int value = 41;
  rex_offload_init();
  puts(probe(&value) == 0 && value == 42 ? "device" : value == 41 ? "host" : "wrong");
  return 0;
}
