/* A lowered library without main: registers at its first launch. */
#include "probe.h"

int library_probe(int *value) { return probe(value); }
