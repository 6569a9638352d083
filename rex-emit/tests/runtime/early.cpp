// Launches before main, from a static object's constructor, and after it, from its destructor. No init.
#include "probe.h"

static struct Early {
  int value = 0;
  Early() { CHECK(probe(&value) == 0 && value == 1); }
  ~Early() {
    CHECK(probe(&value) == 0 && value == 3);
    puts(probe_failures ? "FAIL" : "PASS");
  }
} early;

int main() {
  CHECK(probe(&early.value) == 0 && early.value == 2);
  return probe_failures != 0;
}
