// A libLLVMOffload that runs images for the host device, for machines without a GPU: LLVM's own cannot.
//
// Memory of its devices is memory of the process that it alone touches. A queue is a thread, which begins each
// piece of work late, so that a wait that is missing shows: a transfer reads and writes the program's memory
// when it is its turn. Wrong use (memory that is not of the device, calls before olInit) ends the process.
//
//   FAKE_DEVICES=N   how many devices there are, default 2
//   FAKE_LOG=1       prints what was done when the process ends
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

[[noreturn]] void wrong(const char *what) {
  std::fprintf(stderr, "fake liboffload: %s\n", what);
  std::abort();
}

struct Error {
  int32_t code;
  const char *details;
};
const Error kUninitialized = {18, "liboffload has not been initialized"};
const Error kNotFound = {6, "no such symbol"};
const Error kInvalid = {3, "not an image of the host device"};
using Result = const Error *;

struct Platform {
  int32_t backend;
};
Platform host_platform = {4}, gpu_platform = {1};

struct Device {
  Platform *platform;
  std::mutex lock;
  std::map<char *, size_t> memory, variables;

  /// Whether the bytes are of one allocation or variable of this device.
  bool has(const void *address, size_t bytes) {
    std::lock_guard<std::mutex> guard(lock);
    char *at = static_cast<char *>(const_cast<void *>(address));
    for (const auto *all : {&memory, &variables}) {
      auto after = all->upper_bound(at);
      if (after == all->begin()) continue;
      --after;
      if (at + bytes <= after->first + after->second) return true;
    }
    return false;
  }
};

struct Program {
  void *handle;
  Device *device;
};

struct Symbol {
  void *address;
};

class Queue {
public:
  Queue() : worker_([this] { work(); }) {}
  ~Queue() {
    add(nullptr);
    worker_.join();
  }
  void add(std::function<void()> task) {
    std::lock_guard<std::mutex> guard(lock_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock<std::mutex> guard(lock_);
    changed_.wait(guard, [this] { return tasks_.empty(); });
  }

private:
  void work() {
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock<std::mutex> guard(lock_);
        changed_.wait(guard, [this] { return !tasks_.empty(); });
        task = tasks_.front();
      }
      if (!task) return;
      usleep(50);
      task();
      std::lock_guard<std::mutex> guard(lock_);
      tasks_.pop_front();
      changed_.notify_all();
    }
  }

  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_; // the first is at work
  std::thread worker_;
};

std::atomic<int> users{0};
std::atomic<int> launches{0}, transfers_in{0}, transfers_out{0}, waits{0}, queues{0}, allocations{0};

std::vector<Device *> &devices() {
  static std::vector<Device *> *const all = [] {
    auto *made = new std::vector<Device *>;
    const char *asked = std::getenv("FAKE_DEVICES");
    for (int i = asked ? std::atoi(asked) : 2; i > 0; --i) made->push_back(new Device{&gpu_platform, {}, {}, {}});
    made->push_back(new Device{&host_platform, {}, {}, {}});
    return made;
  }();
  return *all;
}

void print_log() {
  std::fprintf(stderr, "fake liboffload: %d launches, %d transfers in, %d out, %d waits, %d queues, %d allocations, %d users\n",
               launches.load(), transfers_in.load(), transfers_out.load(), waits.load(), queues.load(),
               allocations.load(), users.load());
}

#define TAKE_8(from) from[0], from[1], from[2], from[3], from[4], from[5], from[6], from[7]
#define TAKE_64(from)                                                                                        \
  TAKE_8((from)), TAKE_8((from + 8)), TAKE_8((from + 16)), TAKE_8((from + 24)), TAKE_8((from + 32)),         \
      TAKE_8((from + 40)), TAKE_8((from + 48)), TAKE_8((from + 56))

} // namespace

extern "C" {

struct LaunchSize {
  size_t dimensions;
  uint32_t groups[3], group_size[3];
  size_t shared_bytes;
};

Result olInit() {
  if (users++ == 0) {
    static const int logs = std::getenv("FAKE_LOG") ? std::atexit(print_log) : 0;
    (void)logs;
  }
  return nullptr;
}

Result olShutDown() {
  if (users == 0) return &kUninitialized;
  --users;
  return nullptr;
}

Result olIterateDevices(bool (*visit)(Device *, void *), void *data) {
  if (users == 0) return &kUninitialized;
  for (Device *device : devices())
    if (!visit(device, data)) break;
  return nullptr;
}

Result olGetDeviceInfo(Device *device, int32_t property, size_t, void *value) {
  if (property != 1) wrong("only the platform of a device is known");
  *static_cast<Platform **>(value) = device->platform;
  return nullptr;
}

Result olGetPlatformInfo(Platform *platform, int32_t property, size_t, void *value) {
  if (property != 3) wrong("only the backend of a platform is known");
  *static_cast<int32_t *>(value) = platform->backend;
  return nullptr;
}

Result olIsValidBinary(Device *device, const void *image, size_t bytes, bool *is_valid) {
  *is_valid = device->platform == &gpu_platform && bytes > 20 && static_cast<const char *>(image)[18] == 62;
  return nullptr;
}

Result olCreateProgram(Device *device, const void *image, size_t bytes, Program **program) {
  if (users == 0) return &kUninitialized;
  char path[] = "/tmp/fake_liboffload_XXXXXX";
  const int file = mkstemp(path);
  if (file < 0 || write(file, image, bytes) != static_cast<ssize_t>(bytes)) wrong("cannot write the image");
  close(file);
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  unlink(path);
  if (!handle) return &kInvalid;
  *program = new Program{handle, device};
  return nullptr;
}

Result olDestroyProgram(Program *program) {
  dlclose(program->handle);
  delete program;
  return nullptr;
}

Result olGetSymbol(Program *program, const char *name, int32_t kind, Symbol **symbol) {
  void *address = dlsym(program->handle, name);
  if (!address) return &kNotFound;
  if (kind == 1) {
    std::lock_guard<std::mutex> guard(program->device->lock);
    program->device->variables[static_cast<char *>(address)] = 1 << 20;
  }
  *symbol = new Symbol{address}; // lives as long as the process
  return nullptr;
}

Result olGetSymbolInfo(Symbol *symbol, int32_t property, size_t, void *value) {
  if (property != 1) wrong("only the address of a variable is known");
  *static_cast<void **>(value) = symbol->address;
  return nullptr;
}

Result olMemAlloc(Device *device, int32_t, size_t bytes, void **memory) {
  if (users == 0) return &kUninitialized;
  ++allocations;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(*memory, 0xa5, bytes);
  std::lock_guard<std::mutex> guard(device->lock);
  device->memory[static_cast<char *>(*memory)] = bytes;
  return nullptr;
}

Result olMemFree(void *memory) {
  for (Device *device : devices()) {
    std::lock_guard<std::mutex> guard(device->lock);
    auto found = device->memory.find(static_cast<char *>(memory));
    if (found == device->memory.end()) continue;
    std::memset(memory, 0xa5, found->second);
    device->memory.erase(found);
    std::free(memory);
    return nullptr;
  }
  wrong("memory is freed that is not of a device");
}

Result olMemcpy(Queue *queue, void *to, Device *to_device, const void *from, Device *from_device, size_t bytes) {
  if (!queue) wrong("a copy without a queue");
  if (to_device->platform == &gpu_platform && !to_device->has(to, bytes)) wrong("a copy to memory that is not of the device");
  if (from_device->platform == &gpu_platform && !from_device->has(from, bytes))
    wrong("a copy from memory that is not of the device");
  ++(to_device->platform == &gpu_platform ? transfers_in : transfers_out);
  queue->add([=] { std::memcpy(to, from, bytes); });
  return nullptr;
}

Result olMemFill(Queue *queue, void *to, size_t pattern_bytes, const void *pattern, size_t bytes) {
  if (pattern_bytes != 1) wrong("a pattern of several bytes");
  const char value = *static_cast<const char *>(pattern);
  queue->add([=] { std::memset(to, value, bytes); });
  return nullptr;
}

Result olCreateQueue(Device *device, Queue **queue) {
  if (device->platform != &gpu_platform) wrong("a queue for the host");
  ++queues;
  *queue = new Queue;
  return nullptr;
}

Result olDestroyQueue(Queue *queue) {
  queue->wait();
  delete queue;
  return nullptr;
}

Result olSyncQueue(Queue *queue) {
  ++waits;
  queue->wait();
  return nullptr;
}

Result olLaunchKernel(Queue *queue, Device *, Symbol *kernel, const void *arguments, size_t bytes, const LaunchSize *size) {
  constexpr size_t kSlots = 192;
  if (bytes > kSlots * 8) wrong("too many arguments");
  if (size->dimensions != 1 || size->groups[0] == 0 || size->group_size[0] == 0) wrong("an empty launch");
  ++launches;
  auto slots = std::make_shared<std::vector<uint64_t>>(kSlots);
  std::memcpy(slots->data(), arguments, bytes);
  queue->add([=] {
    auto *run = reinterpret_cast<void (*)(uint64_t, ...)>(kernel->address);
    const uint64_t *slot = slots->data();
    run(TAKE_64(slot), TAKE_64((slot + 64)), TAKE_64((slot + 128)));
  });
  return nullptr;
}

} // extern "C"
