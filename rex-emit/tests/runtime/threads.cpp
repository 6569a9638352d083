// 64 threads use the device for the first time at once; then they init and fini at once.
#include <atomic>
#include <thread>
#include <vector>

#include "probe.h"

static std::atomic<int> waiting{0}, wrong{0};

template <typename Work> static void on_all_threads(Work work) {
  constexpr int kThreads = 64;
  waiting = kThreads;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++)
    threads.emplace_back([i, work] {
      for (--waiting; waiting > 0;) std::this_thread::yield();
      work(i);
    });
  for (std::thread &thread : threads) thread.join();
}

int main() {
  on_all_threads([](int i) {
    int value = i;
    for (int k = 1; k <= 5; k++) wrong += probe(&value) != 0 || value != i + k;
  });
  CHECK(wrong == 0);

  rex_offload_init();
  on_all_threads([](int i) {
    rex_offload_init();
    int value = i;
    wrong += probe(&value) != 0 || value != i + 1;
    rex_offload_fini();
  });
  CHECK(wrong == 0);
  rex_offload_fini();

  // Nothing is registered: whoever inits first registers, whoever is last removes.
  on_all_threads([](int) {
    for (int k = 0; k < 3; k++) {
      rex_offload_init();
      int value = 0;
      wrong += probe(&value) != 0;
      rex_offload_fini();
    }
  });
  CHECK(wrong == 0);
  puts(probe_failures ? "FAIL" : "PASS");
  return probe_failures != 0;
}
