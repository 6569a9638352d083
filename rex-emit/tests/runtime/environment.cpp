// The data environment over liboffload: reference counts, transfers, device routines, threads. Prints PASS.
// Arguments: "present", "extension" or "device" do something that ends the process; "queue" launches 100 times
// and transfers as little as that needs.
#include <cstring>
#include <thread>
#include <vector>

#include "probe.h"

extern "C" {
int omp_get_num_devices();
int omp_get_initial_device();
void *omp_target_alloc(size_t, int);
void omp_target_free(void *, int);
int omp_target_is_present(const void *, int);
int omp_target_is_accessible(const void *, size_t, int);
void *omp_get_mapped_ptr(const void *, int);
int omp_target_memcpy(void *, const void *, size_t, size_t, size_t, int, int);
int omp_target_memcpy_rect(void *, const void *, size_t, int, const size_t *, const size_t *, const size_t *,
                           const size_t *, const size_t *, int, int);
void *omp_target_memset(void *, int, size_t, int);
int omp_target_associate_ptr(const void *, const void *, size_t, size_t, int);
int omp_target_disassociate_ptr(const void *, int);
}

enum { TO = 1, FROM = 2, TOFROM = 3, ALWAYS = 4, DELETE = 8, RETURN = 0x40, PRESENT = 0x1000, HOLD = 0x2000 };

static void begin(void *item, size_t bytes, int64_t type, int64_t device = REX_DEVICE_DEFAULT) {
  int64_t sizes[] = {static_cast<int64_t>(bytes)};
  void *bases[] = {item};
  __tgt_target_data_begin(device, 1, bases, &item, sizes, &type, NULL);
}
static void end(void *item, size_t bytes, int64_t type, int64_t device = REX_DEVICE_DEFAULT) {
  int64_t sizes[] = {static_cast<int64_t>(bytes)};
  __tgt_target_data_end(device, 1, &item, &item, sizes, &type, NULL);
}
static void update(void *item, size_t bytes, int64_t type) {
  int64_t sizes[] = {static_cast<int64_t>(bytes)};
  __tgt_target_data_update(REX_DEVICE_DEFAULT, 1, &item, &item, sizes, &type, NULL);
}
static int on_device(int &x) {
  const int host = x;
  update(&x, sizeof x, FROM);
  const int result = x;
  x = host;
  return result;
}

static void check_references() {
  int x = 1;
  begin(&x, sizeof x, TO);
  x = 2;
  begin(&x, sizeof x, TO); // counts, and copies nothing
  CHECK(on_device(x) == 1);
  begin(&x, sizeof x, TO | ALWAYS);
  CHECK(on_device(x) == 2);
  end(&x, sizeof x, 0);
  x = 7;
  end(&x, sizeof x, FROM);
  CHECK(x == 7 && omp_target_is_present(&x, 0));
  end(&x, sizeof x, FROM);
  CHECK(x == 2 && !omp_target_is_present(&x, 0));
  end(&x, sizeof x, FROM); // not present: ignored
  CHECK(x == 2);

  for (int i = 0; i < 3; i++) begin(&x, sizeof x, TO);
  begin(&x, sizeof x, HOLD);
  end(&x, sizeof x, DELETE);
  CHECK(omp_target_is_present(&x, 0));
  end(&x, sizeof x, HOLD);
  CHECK(!omp_target_is_present(&x, 0));
  for (int i = 0; i < 3; i++) begin(&x, sizeof x, TO);
  end(&x, sizeof x, DELETE);
  CHECK(!omp_target_is_present(&x, 0));
}

/// What the program does after a call does not change what the call has copied.
static void check_transfers() {
  static int large[1 << 18];
  int x = 5;
  begin(&x, sizeof x, 0);
  begin(large, sizeof large, 0);
  large[1000] = 3;
  update(large, sizeof large, TO);
  large[1000] = 4;
  update(&x, sizeof x, TO);
  x = 70;
  CHECK(probe(&x) == 0); // on the device only, where it is present
  CHECK(x == 70 && on_device(x) == 6);
  end(&x, sizeof x, FROM);
  end(large, sizeof large, FROM);
  CHECK(x == 6 && large[1000] == 3);
}

static void check_routines() {
  const int devices = omp_get_num_devices(), host = omp_get_initial_device();
  const int last = devices - 1; // another than 0 where there are several
  CHECK(devices > 0 && host == devices);
  int box[4][5], row[20], sum = 0;
  for (int i = 0; i < 20; i++) row[i] = i;
  int *memory = static_cast<int *>(omp_target_alloc(sizeof row, last));
  CHECK(memory && omp_target_is_accessible(memory, 4, last) && !omp_target_is_accessible(row, 4, last));
  CHECK(omp_target_memcpy(memory, row, sizeof row, 0, 0, last, host) == 0);
  std::memset(row, 0, sizeof row);
  CHECK(omp_target_memcpy(row, memory, 8, 4, 40, host, last) == 0 && row[1] == 10 && row[2] == 11 && row[3] == 0);
  const size_t extents[] = {2, 3}, to[] = {1, 1}, from[] = {2, 2}, whole[] = {4, 5};
  std::memset(box, 0, sizeof box);
  CHECK(omp_target_memcpy_rect(box, memory, sizeof(int), 2, extents, to, from, whole, whole, host, last) == 0);
  for (int i = 0; i < 20; i++) sum += box[i / 5][i % 5];
  CHECK(box[1][1] == 12 && box[2][3] == 19 && sum == 12 + 13 + 14 + 17 + 18 + 19);
  CHECK(omp_target_memcpy(memory, row, 4, 0, 0, devices + 5, host) != 0);
  int *other = static_cast<int *>(omp_target_alloc(sizeof row, 0));
  CHECK(omp_target_memcpy(other, memory, sizeof row, 0, 0, 0, last) == 0);
  CHECK(omp_target_memset(memory, 1, 4, last) == memory);
  CHECK(omp_target_memcpy(row, memory, 8, 0, 0, host, last) == 0 && row[0] == 0x01010101 && row[1] == 1);
  CHECK(omp_target_memcpy(row, other, 8, 0, 0, host, 0) == 0 && row[0] == 0 && row[1] == 1);

  CHECK(omp_get_mapped_ptr(row, 0) == NULL && omp_get_mapped_ptr(row, host) == row);
  CHECK(omp_target_associate_ptr(row, other, 8, 4, 0) == 0);
  CHECK(omp_target_associate_ptr(row, other, 8, 0, 0) != 0);
  CHECK(omp_get_mapped_ptr(row + 1, 0) == other + 2);
  CHECK(probe(row) == 0 && row[0] == 0);
  CHECK(on_device(row[0]) == 2);
  CHECK(omp_target_disassociate_ptr(row, 0) == 0 && !omp_target_is_present(row, 0));
  omp_target_free(memory, last);
  omp_target_free(other, 0);

  void *item = row, *base = row;
  int64_t bytes = sizeof row, type = TO | RETURN;
  __tgt_target_data_begin(last, 1, &base, &item, &bytes, &type, NULL);
  CHECK(base != row && base == omp_get_mapped_ptr(row, last) && omp_target_is_present(row, 0) == (last == 0));
  end(row, sizeof row, 0, last);
  base = row;
  type = RETURN;
  bytes = 0;
  __tgt_target_data_begin(0, 1, &base, &item, &bytes, &type, NULL);
  CHECK(base == row); // not present: as it was
}

/// Launches of several threads on one item, one after the other and at once on items of their own.
static void check_threads() {
  constexpr int kThreads = 8, kLaunches = 20;
  int shared = 0, own[kThreads] = {};
  begin(&shared, sizeof shared, TO);
  begin(own, sizeof own, TO);
  for (int i = 0; i < kThreads; i++)
    std::thread([&shared] {
      for (int k = 0; k < kLaunches; k++) probe(&shared);
    }).join();
  CHECK(on_device(shared) == kThreads * kLaunches);

  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++)
    threads.emplace_back([&own, i] {
      int mine = i;
      for (int k = 0; k < kLaunches; k++) {
        probe(&own[i]);
        probe(&mine);
      }
      if (mine != i + kLaunches) own[0] = -1;
    });
  for (std::thread &thread : threads) thread.join();
  CHECK(own[0] == 0);
  end(own, sizeof own, FROM);
  for (int value : own) CHECK(value == kLaunches);
  end(&shared, sizeof shared, FROM);
  CHECK(shared == kThreads * kLaunches);
}

int main(int argc, char **argv) {
  rex_offload_init();
  int pair[2] = {1, 2};
  const char *what = argc > 1 ? argv[1] : "";
  if (!std::strcmp(what, "present")) begin(pair, sizeof pair, TO | PRESENT);
  if (!std::strcmp(what, "extension")) begin(pair, 4, TO), begin(pair, sizeof pair, TO);
  if (!std::strcmp(what, "device")) begin(pair, sizeof pair, TO, 9);
  if (!std::strcmp(what, "queue")) {
    begin(pair, sizeof pair, TO);
    for (int i = 0; i < 100; i++) probe(&pair[0]);
    end(pair, sizeof pair, FROM);
    CHECK(pair[0] == 101);
  } else {
    check_references();
    check_transfers();
    check_routines();
    check_threads();
  }
  puts(probe_failures ? "FAIL" : "PASS");
  return probe_failures != 0;
}
