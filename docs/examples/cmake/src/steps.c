#include <stdio.h>

int main(void) {
  puts("steps: an even number");
  return 0;
}
