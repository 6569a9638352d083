/* A program and two libraries, each with an image of its own, come and go in one process.
 * Arguments: a library whose kernel adds 10, one whose kernel adds 100. */
#include <dlfcn.h>

#include "probe.h"

struct library {
  void *handle;
  int (*probe)(int *);
  void (*fini)(void);
};

static struct library open_library(const char *path) {
  struct library library = {dlopen(path, RTLD_NOW | RTLD_LOCAL), NULL, NULL};
  if (!library.handle) return puts(dlerror()), library;
  *(void **)&library.probe = dlsym(library.handle, "library_probe");
  *(void **)&library.fini = dlsym(library.handle, "rex_offload_fini");
  return library;
}

static int adds(int (*launch)(int *), int step) {
  int value = 1;
  return launch(&value) == 0 && value == 1 + step;
}

int main(int argc, char **argv) {
  struct library tens, hundreds;
  int round;
  if (argc != 3) return 2;
  rex_offload_init();
  CHECK(adds(probe, 1));
  tens = open_library(argv[1]);
  CHECK(adds(tens.probe, 10));
  CHECK(adds(probe, 1));
  for (round = 0; round < 3; round++) {
    hundreds = open_library(argv[2]);
    CHECK(adds(hundreds.probe, 100));
    CHECK(adds(tens.probe, 10));
    CHECK(adds(probe, 1));

    tens.fini();
    dlclose(tens.handle);
    CHECK(adds(hundreds.probe, 100));
    CHECK(adds(probe, 1));

    tens = open_library(argv[1]);
    CHECK(adds(tens.probe, 10));
    CHECK(adds(hundreds.probe, 100));

    hundreds.fini();
    dlclose(hundreds.handle);
    CHECK(adds(tens.probe, 10));
    CHECK(adds(probe, 1));
  }
  rex_offload_fini(); /* the program's own image goes, the library's stays */
  CHECK(!adds(probe, 1));
  CHECK(adds(tens.probe, 10));

  dlclose(tens.handle); /* without fini: it stays loaded and registered */
  CHECK(adds(tens.probe, 10));
  rex_offload_init();
  CHECK(adds(probe, 1));
  hundreds = open_library(argv[2]);
  CHECK(adds(hundreds.probe, 100));
  tens = open_library(argv[1]);
  CHECK(adds(tens.probe, 10));
  CHECK(adds(probe, 1));
  puts(probe_failures ? "FAIL" : "PASS");
  return probe_failures != 0;
}
