// register_cubin.cpp: gives a program's (or shared library's) device image to LLVM's offload runtime, and
// carries the calls of rex_kmp.h to it.
//
// Compile it once per program or shared library, with the REX_LLVM_ABI of the lowered files:
//   -DREX_LLVM_ABI=19                          the LLVM version of libomptarget (14 to 22)
//   -DREX_EMBED_IMAGE="\"/path/to/image\""     puts the image into the program; otherwise it is searched
//   -DREX_IMAGE_NAME="\"my_library.cubin\""    the file that is searched, default rex_lib_nvidia.cubin
//   -DREX_CUDA_SPIN=0                          lets threads that wait for a GPU sleep
// and link with  -Wl,--no-as-needed -lomptarget -lomp.
//
// At run time:
//   REX_CUBIN_PATH=FILE-OR-FOLDER   where the image is
//   REX_VERBOSE=1                   prints each step, launch and transfer with its source line
//   REX_CUDA_SPIN=0                 threads that wait for a GPU sleep: fewer cycles, slower launches
//   OMP_TARGET_OFFLOAD              as OpenMP says: mandatory, disabled, or default

#include "rex_kmp.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef REX_IMAGE_NAME
#define REX_IMAGE_NAME "rex_lib_nvidia.cubin"
#endif
#ifndef REX_CUDA_SPIN
#define REX_CUDA_SPIN 1
#endif

// ---- What LLVM's runtime defines -----------------------------------------------------------------------

namespace {

struct Ident {
  int32_t reserved1, flags, reserved2, text_bytes;
  const char *text; // ";file;function;line;column;;"
};

struct DeviceImage {
  const void *begin, *end;
  __tgt_offload_entry *entries_begin, *entries_end;
};

struct BinaryDescriptor {
  int32_t images_count;
  DeviceImage *images;
  __tgt_offload_entry *entries_begin, *entries_end;
};

static_assert(sizeof(Ident) == 24, "layout of ident_t");
static_assert(sizeof(DeviceImage) == 32, "layout of __tgt_device_image");
static_assert(sizeof(BinaryDescriptor) == 32, "layout of __tgt_bin_desc");

using DataCall = void(Ident *, int64_t device, int32_t count, void **bases, void **begins, int64_t *sizes,
                      int64_t *types, void **names, void **mappers);

} // namespace

extern "C" {
// The asm names are the runtime's own; rex_kmp.h gives some of them another meaning in C.
void llvm_register_lib(BinaryDescriptor *) __asm__("__tgt_register_lib");
void llvm_unregister_lib(BinaryDescriptor *) __asm__("__tgt_unregister_lib");
DataCall llvm_data_begin __asm__("__tgt_target_data_begin_mapper");
DataCall llvm_data_end __asm__("__tgt_target_data_end_mapper");
DataCall llvm_data_update __asm__("__tgt_target_data_update_mapper");
#if REX_LLVM_ABI >= 15
int llvm_target_kernel(Ident *, int64_t device, int32_t teams, int32_t threads, void *key,
                       __tgt_kernel_arguments *) __asm__("__tgt_target_kernel");
#else
void llvm_push_tripcount(Ident *, int64_t device, uint64_t) __asm__("__kmpc_push_target_tripcount_mapper");
int llvm_target_teams(Ident *, int64_t device, void *key, int32_t count, void **bases, void **begins,
                      int64_t *sizes, int64_t *types, void **names, void **mappers, int32_t teams,
                      int32_t threads) __asm__("__tgt_target_teams_mapper");
#endif

// rex_kmp.h refers to it from every lowered file.
REX_HIDDEN extern const char REX_ABI_SYMBOL = 0;

// Made by the linker around the entries of rex_kmp.h; both null in a program without entries.
extern __tgt_offload_entry __start_omp_offloading_entries[] __attribute__((weak, visibility("hidden")));
extern __tgt_offload_entry __stop_omp_offloading_entries[] __attribute__((weak, visibility("hidden")));
}

#ifdef REX_EMBED_IMAGE
// clang-format off
__asm__(".pushsection .rodata.rex_image, \"a\", @progbits\n"
        ".globl rex_embedded_image_begin\n.hidden rex_embedded_image_begin\nrex_embedded_image_begin:\n"
        ".incbin " REX_TEXT(REX_EMBED_IMAGE) "\n"
        ".globl rex_embedded_image_end\n.hidden rex_embedded_image_end\nrex_embedded_image_end:\n"
        ".popsection\n");
// clang-format on
extern "C" REX_HIDDEN const unsigned char rex_embedded_image_begin[], rex_embedded_image_end[];
#endif

namespace {

/// The entries of this program's or library's own files.
struct HostEntries {
  const __tgt_offload_entry *begin() const { return __start_omp_offloading_entries; }
  const __tgt_offload_entry *end() const { return __stop_omp_offloading_entries; }
  size_t size() const { return static_cast<size_t>(end() - begin()); }
};

/// Entries of kernel templates; constructors of static objects fill it.
rex_instance_entry *first_instance = nullptr;

/// The device symbol of an instantiation. Its tag has the same name and arguments, so the compiler's name of
/// the tag has everything but the return type and the parameters (Itanium C++ ABI, 5.1.5).
std::string symbol_of(const rex_instance_entry &instance, bool on_host) {
  const std::string kernel = instance.kernel, written = std::to_string(kernel.size()) + kernel;
  std::string name = instance.type;
  if (on_host) {
    const std::string entry = kernel + "__host_entry";
    const size_t at = name.find(written);
    if (at != std::string::npos) name.replace(at, written.size(), std::to_string(entry.size()) + entry);
    return "_Z" + name + "vmz"; // void (uint64_t, ...)
  }
  std::string parameters = REX_LLVM_ABI >= 18 ? "Pv" : "";
  parameters.append(static_cast<size_t>(instance.parameters), 'm');
  return "_Z" + name + "v" + (parameters.empty() ? "v" : parameters); // void (void *, uint64_t, ...)
}

// ---- Surroundings: environment, messages ----------------------------------------------------------------

bool verbose() {
  static const bool asked = [] {
    const char *value = std::getenv("REX_VERBOSE");
    return value && *value && std::strcmp(value, "0") != 0;
  }();
  return asked;
}

bool offload_policy_is(const char *policy) {
  const char *value = std::getenv("OMP_TARGET_OFFLOAD");
  return value && strcasecmp(value, policy) == 0;
}

/// Prints one line. Whole lines only, so that threads do not mix theirs.
void say(const std::string &line) { std::fprintf(stderr, "rex: %s\n", line.c_str()); }

/// What went wrong, each with what to do about it. No step's problem hides another's.
class Problems {
public:
  void add(const std::string &problem) { text_ += (text_.empty() ? "" : "; ") + problem; }
  void add(const Problems &others) {
    if (!others.none()) add(others.text_);
  }
  bool none() const { return text_.empty(); }
  const std::string &text() const { return text_; }

private:
  std::string text_;
};

/// The source line of an offload call, for the runtime and for messages.
class Location {
public:
  Location(const char *file, const char *function, int line) : file_(file), line_(line) {
    int bytes = std::snprintf(text_, sizeof text_, ";%s;%s;%d;0;;", file, function, line);
    if (bytes >= static_cast<int>(sizeof text_)) bytes = sizeof text_ - 1;
    ident_ = {0, 2, 0, bytes, text_};
  }
  Location(const Location &) = delete;

  Ident *ident() { return &ident_; }
  std::string text() const { return std::string(file_) + ":" + std::to_string(line_); }

private:
  const char *file_;
  int line_;
  char text_[512];
  Ident ident_;
};

// ---- The runtime that is loaded -------------------------------------------------------------------------

/// A function of libomptarget itself: another OpenMP runtime in the process may have one of the same name.
template <typename Function> Function *runtime_function(const char *name) {
  Dl_info runtime;
  if (!dladdr(dlsym(RTLD_DEFAULT, "__tgt_register_lib"), &runtime)) return nullptr;
  void *object = dlopen(runtime.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  void *function = object ? dlsym(object, name) : nullptr;
  if (object) dlclose(object);
  return reinterpret_cast<Function *>(function);
}

/// Major version of the loaded libomptarget: from its file name, or from the functions it has. 0: not loaded.
int loaded_llvm() {
  void *member = dlsym(RTLD_DEFAULT, "__tgt_register_lib");
  if (!member) return 0;

  Dl_info symbol;
  void *object = nullptr;
  if (dladdr1(member, &symbol, &object, RTLD_DL_LINKMAP) && object) {
    const char *strings = nullptr;
    size_t name_offset = 0;
    for (const ElfW(Dyn) *entry = static_cast<link_map *>(object)->l_ld; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char *>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_SONAME) name_offset = entry->d_un.d_val;
    }
    int version = 0;
    if (strings && std::sscanf(strings + name_offset, "libomptarget.so.%d", &version) == 1) return version;
  }

  static const struct {
    int version;
    const char *first_function;
  } kHistory[] = {{22, "__tgt_interop_get"},       {20, "llvmLaunchKernel"},
                  {19, "__tgt_rtl_init"},          {18, "omp_target_memset"},
                  {17, "omp_target_memcpy_async"}, {16, "__tgt_target_nowait_query"},
                  {15, "__tgt_target_kernel"}};
  for (const auto &step : kHistory)
    if (dlsym(RTLD_DEFAULT, step.first_function)) return step.version;
  return 14;
}

/// Whether code compiled for REX_LLVM_ABI runs on libomptarget `loaded`: entries, packet version and the
/// hidden kernel parameter must agree (table in README.md).
bool runs_on(int loaded) {
  switch (REX_LLVM_ABI) {
  case 16:
  case 17:
    return loaded == 16 || loaded == 17;
  case 19:
    return loaded >= 19 && loaded <= 22;
  case 20:
  case 21:
  case 22:
    return loaded >= 20 && loaded <= 22;
  default:
    return loaded == REX_LLVM_ABI;
  }
}

void check_runtime(int loaded, Problems &problems) {
  const std::string built = std::to_string(REX_LLVM_ABI), found = std::to_string(loaded);
  const std::string mismatch =
      "built for libomptarget of LLVM " + built + " but LLVM " + found + " is loaded: ";
  if (loaded == 0)
    problems.add("libomptarget is not loaded: link with -Wl,--no-as-needed -lomptarget -lomp");
  else if (loaded > 22)
    problems.add(mismatch + "this version is not known, load LLVM " + built);
  else if (!runs_on(loaded))
    problems.add(mismatch + "compile with -DREX_LLVM_ABI=" + found + " or load LLVM " + built);
  else if (loaded < 17 && !dlsym(RTLD_DEFAULT, "__kmpc_get_target_offload"))
    problems.add("libomp is not loaded: link with -Wl,--no-as-needed -lomptarget -lomp");
}

// ---- The image ------------------------------------------------------------------------------------------

#if defined(__aarch64__)
constexpr unsigned kHostMachine = EM_AARCH64;
#else
constexpr unsigned kHostMachine = EM_X86_64;
#endif
constexpr unsigned kNvidiaMachine = 190;

/// A device image: the bytes of an ELF file, and what its headers say.
class Image {
public:
  enum class Kind { host, nvidia };

  /// Reads the headers; adds to `problems` what makes the image unusable.
  void read(const std::vector<unsigned char> &bytes, const std::string &name, Problems &problems);
  /// The same bytes, at another place.
  void move_to(const std::vector<unsigned char> &bytes) { begin_ = bytes.data(); }

  const unsigned char *begin() const { return begin_; }
  const unsigned char *end() const { return begin_ + bytes_; }
  Kind kind() const { return kind_; }
  /// 90 for sm_90.
  unsigned capability() const { return capability_; }
  /// Header version of a cubin: 7 as CUDA 12 writes, 8 as CUDA 13 writes.
  unsigned cubin_version() const { return cubin_version_; }
  /// Address of a defined symbol, or null.
  const uint64_t *symbol(const std::string &name) const {
    auto found = symbols_.find(name);
    return found == symbols_.end() ? nullptr : &found->second;
  }

private:
  bool read_symbols(const Elf64_Ehdr &header);

  template <typename Record> const Record *record(uint64_t offset, uint64_t count = 1) const {
    if (offset > bytes_ || count > (bytes_ - offset) / sizeof(Record)) return nullptr;
    return reinterpret_cast<const Record *>(begin_ + offset);
  }

  const unsigned char *begin_ = nullptr;
  size_t bytes_ = 0;
  Kind kind_ = Kind::host;
  unsigned capability_ = 0, cubin_version_ = 0;
  std::unordered_map<std::string, uint64_t> symbols_;
};

void Image::read(const std::vector<unsigned char> &bytes, const std::string &name, Problems &problems) {
  begin_ = bytes.data();
  bytes_ = bytes.size();
  if (bytes_ == 0) return problems.add(name + " is empty: build the device image again");
  if (bytes_ < SELFMAG || std::memcmp(begin_, ELFMAG, SELFMAG) != 0)
    return problems.add(
        name + " is not an ELF file: give the cubin or shared object itself, not its source or a fatbin");

  const Elf64_Ehdr *header = record<Elf64_Ehdr>(0);
  if (!header) return problems.add(name + " is truncated: build the device image again");
  if (header->e_machine == kNvidiaMachine) {
    kind_ = Kind::nvidia;
    cubin_version_ = header->e_ident[EI_ABIVERSION];
    capability_ = cubin_version_ >= 8 ? header->e_flags >> 8 & 0xff : header->e_flags & 0xff;
  } else if (header->e_machine != kHostMachine || header->e_ident[EI_CLASS] != ELFCLASS64) {
    return problems.add(name + " is for another machine (ELF machine " + std::to_string(header->e_machine) +
                        "): build the device image for nvptx or for this host");
  } else if (header->e_type != ET_DYN) {
    return problems.add(name + " is not a shared object: link the host image with -shared");
  }
  if (!read_symbols(*header)) problems.add(name + " is truncated: build the device image again");
}

/// Fills symbols_ from every symbol table. False when a section lies beyond the end of the file.
bool Image::read_symbols(const Elf64_Ehdr &header) {
  const Elf64_Shdr *sections = record<Elf64_Shdr>(header.e_shoff, header.e_shnum);
  if (!sections) return false;
  for (unsigned i = 0; i < header.e_shnum; ++i)
    if (sections[i].sh_type != SHT_NOBITS && !record<char>(sections[i].sh_offset, sections[i].sh_size))
      return false;

  const unsigned table_type = kind_ == Kind::nvidia ? SHT_SYMTAB : SHT_DYNSYM;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    if (sections[i].sh_type != table_type || sections[i].sh_link >= header.e_shnum) continue;
    const Elf64_Shdr &strings = sections[sections[i].sh_link];
    const uint64_t count = sections[i].sh_size / sizeof(Elf64_Sym);
    const Elf64_Sym *symbols = record<Elf64_Sym>(sections[i].sh_offset, count);
    for (uint64_t k = 0; k < count; ++k) {
      if (symbols[k].st_shndx == SHN_UNDEF || symbols[k].st_name >= strings.sh_size) continue;
      const char *name = reinterpret_cast<const char *>(begin_ + strings.sh_offset + symbols[k].st_name);
      symbols_.emplace(std::string(name, strnlen(name, strings.sh_size - symbols[k].st_name)),
                       symbols[k].st_value);
    }
  }
  return true;
}

/// NVIDIA's driver interface, as far as it is used here (cuda.h, CUDA 7 to 13).
class CudaDriver {
public:
  CudaDriver() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {}

  bool is_loaded() const { return library_; }
  /// The number of devices, 0 when the driver does not start.
  int start() const {
    int count = 0;
    return call("cuInit", 0u) && call("cuDeviceGetCount", &count) ? count : 0;
  }
  /// 90 for sm_90.
  unsigned capability(int device) const {
    constexpr int kMajor = 75, kMinor = 76; // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
    int major = 0, minor = 0;
    call("cuDeviceGetAttribute", &major, kMajor, device);
    call("cuDeviceGetAttribute", &minor, kMinor, device);
    return static_cast<unsigned>(major * 10 + minor);
  }
  /// Makes the device's context such that a waiting thread asks again and again: on an H200 a launch takes
  /// 12 microseconds so, and 28 when the thread sleeps, as LLVM has it. A context that exists stays as it is.
  void spin_while_waiting(int device) const {
    constexpr unsigned kSpin = 1; // CU_CTX_SCHED_SPIN
    unsigned flags = 0;
    int exists = 1;
    void *context = nullptr;
    if (call("cuDevicePrimaryCtxGetState", device, &flags, &exists) && !exists &&
        call("cuDevicePrimaryCtxSetFlags_v2", device, kSpin))
      call("cuDevicePrimaryCtxRetain", &context, device); // LLVM would set its flags for a context without users
  }

private:
  /// False when the driver lacks the function or it fails.
  template <typename... Argument> bool call(const char *name, Argument... argument) const {
    auto *function = reinterpret_cast<int (*)(Argument...)>(dlsym(library_, name));
    return function && function(argument...) == 0;
  }

  void *library_; // stays open: the runtime uses it too
};

/// Whether waiting threads may keep a processor busy: REX_CUDA_SPIN, from the environment or the compiler.
bool spin_is_wanted() {
  const char *value = std::getenv("REX_CUDA_SPIN");
  return value && *value ? std::strcmp(value, "0") != 0 : REX_CUDA_SPIN != 0;
}

/// Whether some GPU of this machine runs the image: same major compute capability, minor not older. Those
/// that do get their contexts, which LLVM from 19 on makes right after, and earlier versions at first use.
void check_gpu(const Image &image, int llvm, Problems &problems) {
  const CudaDriver driver;
  if (!driver.is_loaded())
    return problems.add("no NVIDIA driver (libcuda.so.1) on this machine: use an image for the host device");
  const int count = driver.start();
  if (count == 0) return problems.add("no NVIDIA device: use an image for the host device");

  std::string others;
  bool runs = false;
  for (int device = 0; device < count; ++device) {
    const unsigned capability = driver.capability(device);
    if (capability / 10 == image.capability() / 10 && capability >= image.capability()) {
      runs = true;
      if (llvm >= 19 && spin_is_wanted()) driver.spin_while_waiting(device);
    } else {
      others += (others.empty() ? "sm_" : ", sm_") + std::to_string(capability);
    }
  }
  if (!runs)
    problems.add("the image is for sm_" + std::to_string(image.capability()) + " but this machine has " + others +
                 ": build the device image for that");
}

// ---- Finding the image ----------------------------------------------------------------------------------

/// The shared library that this file is part of; empty in an executable.
std::string own_library() {
  static const char here = 0;
  Dl_info self;
  void *object = nullptr;
  if (!dladdr1(&here, &self, &object, RTLD_DL_LINKMAP) || !object) return "";
  return static_cast<link_map *>(object)->l_name;
}

/// The folder of that library, or of the executable.
std::string own_folder() {
  std::string path = own_library();
  if (path.empty()) {
    char program[4096];
    ssize_t bytes = readlink("/proc/self/exe", program, sizeof program);
    path.assign(program, bytes > 0 ? static_cast<size_t>(bytes) : 0);
  }
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

bool is_folder(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool read_file(const std::string &path, std::vector<unsigned char> &bytes) {
  FILE *file = is_folder(path) ? nullptr : std::fopen(path.c_str(), "rb");
  if (!file) return false;
  unsigned char block[16384];
  bytes.clear();
  while (size_t count = std::fread(block, 1, sizeof block, file))
    bytes.insert(bytes.end(), block, block + count);
  bool complete = !std::ferror(file);
  std::fclose(file);
  return complete;
}

/// Loads the image and says where it is from: REX_CUBIN_PATH, the program itself, or the first file found.
Image find_image(std::vector<unsigned char> &bytes, Problems &problems) {
  Image image;
  std::vector<std::string> places;
  const char *wish = std::getenv("REX_CUBIN_PATH");
  if (wish && *wish) {
    places.push_back(is_folder(wish) ? std::string(wish) + "/" REX_IMAGE_NAME : wish);
  } else {
#ifdef REX_EMBED_IMAGE
    // A copy: the runtime may look at it after the library is unregistered and closed.
    bytes.assign(rex_embedded_image_begin, rex_embedded_image_end);
    if (verbose()) say("image: embedded");
    image.read(bytes, "the embedded device image", problems);
    return image;
#endif
    places.push_back(own_folder() + "/" REX_IMAGE_NAME);
    places.push_back("./" REX_IMAGE_NAME);
  }

  std::string tried;
  for (const std::string &place : places) {
    if (read_file(place, bytes)) {
      if (verbose()) say("image: " + place);
      image.read(bytes, place, problems);
      return image;
    }
    tried += (tried.empty() ? "" : ", ") + place + " (" +
             (is_folder(place) ? "a folder" : std::strerror(errno)) + ")";
  }
  problems.add("cannot read the device image: " + tried +
               "; set REX_CUBIN_PATH, or build with --embed-image so that it cannot be lost");
  return image;
}

// ---- Registration ---------------------------------------------------------------------------------------

/// The table of entries as the runtime knows it.
struct Table {
  std::list<std::string> names;
  std::vector<__tgt_offload_entry> entries;
  DeviceImage image{};
  BinaryDescriptor descriptor{};
};

/// One registered image. The runtime keeps pointers into it, and forgets none of them when the image is
/// unregistered: it looks at removed images when it registers the next (LLVM 19), and takes a table that
/// comes back at an old address for the old one. So both are kept: the bytes once for each different image.
class Registration {
public:
  /// Null when something is wrong; `problems` says what.
  static Registration *create(Problems &problems);
  /// Stands for OMP_TARGET_OFFLOAD=disabled: every call leaves the work to the host.
  static Registration *disabled() { return new Registration; }
  ~Registration();

  bool enabled() const { return registered_; }
  /// Whether the table has every instantiation of a template that is known by now.
  bool is_complete() const { return !registered_ || last_instance_ == first_instance; }
  Image::Kind kind() const { return image_.kind(); }

private:
  Registration() = default;
  void fill_table(Problems &problems);
  bool is_built_for_this_abi() const;
  void add_to_runtime();

  Image image_;
  std::unique_ptr<Table> table_{new Table};
  void *own_handle_ = nullptr;
  const rex_instance_entry *last_instance_ = nullptr;
  int32_t requirements_ = 0;
  bool registered_ = false;
};

/// What the runtime may still look at. Never destroyed.
struct Kept {
  std::list<std::vector<unsigned char>> images;
  std::list<std::unique_ptr<Table>> tables;
};

Kept &kept() {
  static Kept *const it = new Kept;
  return *it;
}

/// Copies the entries, so that they outlive a library that is closed, and points each at its symbol.
/// On the host device a kernel is entered through <kernel>__host_entry (rex_nvidia.h).
void Registration::fill_table(Problems &problems) {
  const std::string kernel_suffix = kind() == Image::Kind::host ? "__host_entry" : "";
  std::vector<__tgt_offload_entry> &entries = table_->entries;
  size_t instances_count = 0;
  for (const rex_instance_entry *instance = first_instance; instance; instance = instance->next) ++instances_count;
  entries.reserve(HostEntries().size() + instances_count + 2); // an address of its own, also for an empty table
  std::string missing;
  for (const __tgt_offload_entry &entry : HostEntries()) {
    if (entry.flags & REX_REQUIRES_FLAG) {
      requirements_ |= static_cast<int32_t>(entry.data);
      continue;
    }
    table_->names.push_back(entry.name + (entry.size == 0 ? kernel_suffix : ""));
    std::string &name = table_->names.back();
    if (!image_.symbol(name)) missing += (missing.empty() ? "" : ", ") + name;
    entries.push_back(entry);
    entries.back().name = &name[0];
  }
  last_instance_ = first_instance;
  for (rex_instance_entry *instance = first_instance; instance; instance = instance->next) {
    table_->names.push_back(symbol_of(*instance, kind() == Image::Kind::host));
    std::string &name = table_->names.back();
    if (!image_.symbol(name)) missing += (missing.empty() ? "" : ", ") + name;
    const __tgt_offload_entry entry = REX_ENTRY(instance, &name[0], 0, 0);
    entries.push_back(entry);
  }
  if (!missing.empty())
    problems.add("the device image lacks " + missing + ": build host files and image from the same lowering");
  else if (!is_built_for_this_abi())
    problems.add("the device image is built for another LLVM: compile it with -DREX_LLVM_ABI=" +
                 std::to_string(REX_LLVM_ABI) + ", as the program is");
#if REX_LLVM_ABI <= 15
  // The host plugin of these versions pairs the two tables by position: follow the image's.
  if (kind() == Image::Kind::host)
    std::sort(entries.begin(), entries.end(),
              [this](const __tgt_offload_entry &a, const __tgt_offload_entry &b) {
                const uint64_t *at_a = image_.symbol(std::string(a.name) + "__image_entry");
                const uint64_t *at_b = image_.symbol(std::string(b.name) + "__image_entry");
                return at_a && at_b && *at_a < *at_b;
              });
#endif
#if REX_LLVM_ABI >= 19
  // Last: LLVM 22 takes a table that begins with an entry without address for one of the newer layout.
  if (requirements_ && !entries.empty()) {
    const __tgt_offload_entry entry = REX_REQUIRES_ENTRY(requirements_);
    entries.push_back(entry);
  }
#endif
}

/// Whether kernels take the hidden parameter exactly when this runtime passes it.
bool Registration::is_built_for_this_abi() const {
  if (kind() == Image::Kind::host)
    return image_.symbol("rex_image_for_LLVM_ABI_" + std::to_string(REX_LLVM_ABI));
  for (const __tgt_offload_entry &entry : table_->entries) // instantiations of templates have no such symbol
    if (entry.size == 0 && std::strncmp(entry.name, "_Z", 2) != 0)
      return image_.symbol(std::string(entry.name) +
                           (REX_LLVM_ABI >= 18 ? "_kernel_environment" : "_exec_mode"));
  return true;
}

void Registration::add_to_runtime() {
  // Holding one reference keeps LLVM 19 and later alive when nothing is registered; without it their
  // functions, omp_get_num_devices too, crash then.
  static const bool held = [] {
    void (*hold)() = runtime_function<void()>("__tgt_rtl_init");
    if (hold) hold();
    return true;
  }();
  (void)held;

  __tgt_offload_entry *begin = table_->entries.data(), *end = begin + table_->entries.size();
  table_->image = {image_.begin(), image_.end(), begin, end};
  table_->descriptor = {1, &table_->image, begin, end};
  // A library stays loaded while it is registered: another one at its address would have its host keys.
#if REX_LLVM_ABI < 19
  if (requirements_)
    if (auto *require = runtime_function<void(int64_t)>("__tgt_register_requires")) require(requirements_);
#endif
  if (!own_library().empty()) own_handle_ = dlopen(own_library().c_str(), RTLD_NOW | RTLD_NOLOAD);
  llvm_register_lib(&table_->descriptor);
  registered_ = true;
}

Registration::~Registration() {
  if (!registered_) return;
  llvm_unregister_lib(&table_->descriptor);
  kept().tables.push_back(std::move(table_));
  if (own_handle_) dlclose(own_handle_);
}

/// Where these bytes are kept.
const std::vector<unsigned char> &kept_copy(std::vector<unsigned char> &bytes) {
  std::list<std::vector<unsigned char>> &images = kept().images;
  auto same = std::find(images.begin(), images.end(), bytes);
  return same != images.end() ? *same : *images.insert(same, std::move(bytes));
}

Registration *Registration::create(Problems &problems) {
  std::unique_ptr<Registration> it(new Registration);
  const int llvm = loaded_llvm();
  check_runtime(llvm, problems);
  Problems image_problems;
  std::vector<unsigned char> bytes;
  it->image_ = find_image(bytes, image_problems);
  if (image_problems.none()) {
    it->fill_table(image_problems);
    if (it->image_.cubin_version() >= 8 && llvm < 22)
      image_problems.add("the cubin is written by CUDA 13, which LLVM " + std::to_string(llvm) +
                         " cannot load: use ptxas of CUDA 12, or LLVM 22");
    if (it->kind() == Image::Kind::nvidia) check_gpu(it->image_, llvm, image_problems);
  }
  problems.add(image_problems);
  if (!problems.none()) return nullptr;

  it->image_.move_to(kept_copy(bytes));
  it->add_to_runtime();
  auto *num_devices = runtime_function<int()>("omp_get_num_devices");
  const int devices = num_devices ? num_devices() : 1;
  if (devices == 0) {
    problems.add("LLVM " + std::to_string(llvm) + " found no device for the image: is its plugin for " +
                 (it->kind() == Image::Kind::nvidia ? "CUDA" : "the host") + " installed (libomp-" +
                 std::to_string(llvm) + "-dev)?");
    return nullptr;
  }
  if (verbose())
    say("registered " + std::to_string(it->table_->entries.size()) + " entries with LLVM " +
        std::to_string(llvm) + ", " + std::to_string(devices) + " devices");
  return it.release();
}

// ---- Life cycle -----------------------------------------------------------------------------------------

/// The one load of the hot path: null until the image is registered.
std::atomic<Registration *> current{nullptr};

/// Everything else about the life cycle, under one lock. Never destroyed: destructors of static objects may
/// still launch.
struct Lifecycle {
  std::mutex lock;
  int init_count = 0;
  bool finished = false;
  Registration *parked = nullptr;
  std::string problem;
  std::string last_said;
};

Lifecycle &lifecycle() {
  static Lifecycle *const it = new Lifecycle;
  return *it;
}

/// Registers the image unless it is. `call` is null for rex_offload_init, which alone ends the state after
/// the last rex_offload_fini. Call with the lock held.
Registration *register_image(Lifecycle &life, const Location *call) {
  if (Registration *already = current.load(std::memory_order_acquire)) {
    if (already->is_complete()) return already;
    // Registered by a launch before main, when not all instantiations of templates were known.
    current.store(nullptr, std::memory_order_release);
    delete already;
  }

  Registration *made = nullptr;
  Problems problems;
  if (call && life.finished)
    problems.add(call->text() +
                 ": offload call after the last rex_offload_fini: call rex_offload_init first");
  else if (life.parked)
    made = life.parked;
  else if (offload_policy_is("disabled"))
    made = Registration::disabled();
  else
    made = Registration::create(problems);

  life.problem = problems.text();
  if (made) {
    life.parked = nullptr;
    life.finished = false;
    current.store(made, std::memory_order_release);
  } else if (life.problem != life.last_said) {
    say(life.problem);
    life.last_said = life.problem;
  }
  return made;
}

/// Ends the process for a call that had to run on a device. The reason has been said.
[[noreturn]] void give_up(const Location &where) {
  static std::recursive_mutex ending; // taken for good: other threads wait, and nothing is said twice
  static int calls = 0;
  ending.lock();
  if (++calls > 1) std::_Exit(EXIT_FAILURE); // a destructor that launches
  say(where.text() + ": this had to run on a device, because OMP_TARGET_OFFLOAD is mandatory");
  std::exit(EXIT_FAILURE);
}

/// The registration a call uses. Null: the call must leave the work to the host.
Registration *registration_for(const Location &where) {
  Registration *registered = current.load(std::memory_order_acquire);
  if (!registered || !registered->is_complete()) {
    Lifecycle &life = lifecycle();
    std::lock_guard<std::mutex> guard(life.lock);
    registered = register_image(life, &where);
  }
  if (!registered && offload_policy_is("mandatory")) give_up(where);
  return registered && registered->enabled() ? registered : nullptr;
}

} // namespace

void rex_instance_entry::add(const char *kernel_name, const char *type_name, int parameters_count) {
  if (kernel) return;
  kernel = kernel_name;
  type = type_name;
  parameters = parameters_count;
  next = first_instance;
  first_instance = this;
}

// Protected: the symbol is exported, but each library calls its own.
__attribute__((visibility("protected"))) void rex_offload_init() {
  Lifecycle &life = lifecycle();
  std::lock_guard<std::mutex> guard(life.lock);
  ++life.init_count;
  register_image(life, nullptr);
}

__attribute__((visibility("protected"))) void rex_offload_fini() {
  Lifecycle &life = lifecycle();
  std::lock_guard<std::mutex> guard(life.lock);
  if (life.init_count > 0 && --life.init_count > 0) return;
  Registration *ended = current.exchange(nullptr, std::memory_order_acq_rel);
  if (!ended) return;
  life.finished = true;
  life.problem.clear();
  if (verbose()) say("unregistered");
  // LLVM 18 crashes when it launches from an image that was registered again: it keeps the first one.
  if (loaded_llvm() == 18)
    life.parked = ended;
  else
    delete ended;
}

__attribute__((visibility("protected"))) const char *rex_offload_error() {
  Lifecycle &life = lifecycle();
  std::lock_guard<std::mutex> guard(life.lock);
  return life.problem.empty() ? nullptr : life.problem.c_str();
}

// ---- Devices --------------------------------------------------------------------------------------------

namespace {

/// The runtime's number of a device: for it, -1 is the default device, and the initial device comes behind
/// all others. Ends the program for a number that OpenMP calls invalid.
int64_t runtime_device(const Location &where, int64_t device) {
  constexpr int64_t kDefault = -1;
  if (device >= 0) return device;
  if (device == REX_DEVICE_DEFAULT) return kDefault;
  if (device != REX_DEVICE_INITIAL) {
    say(where.text() + ": device(" + std::to_string(device) +
        ") is no device: numbers begin at 0, and omp_initial_device is " + std::to_string(REX_DEVICE_INITIAL));
    std::exit(EXIT_FAILURE);
  }
  static const auto initial_device = runtime_function<int()>("omp_get_initial_device");
  return initial_device ? initial_device() : kDefault;
}

} // namespace

// ---- Launch ---------------------------------------------------------------------------------------------

namespace {

struct Geometry {
  int32_t teams, threads;
};

/// Fills in what the program left open: one thread per iteration, in so many teams that an H100 is full
/// several times over and no more. More teams are slower there, by a little for plain loops (2^24 iterations
/// in 131,072 teams: 127 us, in 8,192: 121 us) and by far for reductions (295 us and 83 us). On the host,
/// where a team runs on one processor, a few small teams.
Geometry choose_geometry(Geometry asked, uint64_t trips, Image::Kind kind) {
  struct Default {
    int32_t threads;
    uint64_t teams_max, teams_unknown_trips;
  };
  constexpr Default kGpu = {128, 8192, 432}, kGpuFew = {512, 528, 132}, kGpuEach = {256, 1 << 20, 432};
  constexpr Default kHost = {4, 8, 1};
  const bool each = asked.teams == REX_TEAMS_EACH;
  const Default chosen = kind == Image::Kind::host      ? kHost
                         : asked.teams == REX_TEAMS_FEW ? kGpuFew
                         : each                         ? kGpuEach
                                                        : kGpu;

  Geometry geometry = asked;
  if (asked.threads <= 0) geometry.threads = chosen.threads;
  if (asked.teams <= 0) {
    const uint64_t trips_per_team = each ? 1 : static_cast<uint64_t>(geometry.threads);
    const uint64_t needed = trips > 0 ? (trips - 1) / trips_per_team + 1 : chosen.teams_unknown_trips;
    geometry.teams = static_cast<int32_t>(std::min(needed, chosen.teams_max));
  }
  return geometry;
}

/// The arrays of a launch with three literals behind: teams, threads, dynamic shared bytes. The host plugin
/// calls a kernel once and passes no geometry; the image runs the grid by these (rex_nvidia.cu).
class HostArguments {
public:
  HostArguments(__tgt_kernel_arguments &arguments, Geometry geometry)
      : bases_(arguments.ArgBasePtrs, arguments.ArgBasePtrs + arguments.NumArgs),
        begins_(arguments.ArgPtrs, arguments.ArgPtrs + arguments.NumArgs),
        sizes_(arguments.ArgSizes, arguments.ArgSizes + arguments.NumArgs),
        types_(arguments.ArgTypes, arguments.ArgTypes + arguments.NumArgs) {
    if (arguments.ArgNames) names_.assign(arguments.ArgNames, arguments.ArgNames + arguments.NumArgs);
    if (arguments.ArgMappers) mappers_.assign(arguments.ArgMappers, arguments.ArgMappers + arguments.NumArgs);
    append(static_cast<uint64_t>(geometry.teams));
    append(static_cast<uint64_t>(geometry.threads));
    append(arguments.DynCGroupMem);

    arguments.NumArgs = static_cast<uint32_t>(bases_.size());
    arguments.ArgBasePtrs = bases_.data();
    arguments.ArgPtrs = begins_.data();
    arguments.ArgSizes = sizes_.data();
    arguments.ArgTypes = types_.data();
    arguments.ArgNames = arguments.ArgNames ? names_.data() : nullptr;
    arguments.ArgMappers = arguments.ArgMappers ? mappers_.data() : nullptr;
    arguments.DynCGroupMem = 0;
  }

private:
  void append(uint64_t literal) {
    constexpr int64_t kParameter = 0x20, kLiteral = 0x100;
    bases_.push_back(rex_literal(&literal, sizeof literal));
    begins_.push_back(bases_.back());
    sizes_.push_back(sizeof literal);
    types_.push_back(kParameter | kLiteral);
    names_.push_back(nullptr);
    mappers_.push_back(nullptr);
  }

  std::vector<void *> bases_, begins_;
  std::vector<int64_t> sizes_, types_;
  std::vector<void *> names_, mappers_;
};

const char *kernel_name(const void *key) {
  for (const __tgt_offload_entry &entry : HostEntries())
    if (entry.addr == key) return entry.name;
  return "of an unknown key";
}

#if REX_LLVM_ABI >= 15
int launch(Ident *where, int64_t device, Geometry geometry, void *key, __tgt_kernel_arguments &arguments) {
  arguments.Version = REX_LLVM_ABI >= 19 ? 3 : REX_LLVM_ABI >= 16 ? 2 : 1;
  // 15 reads the parameters, 16 and later read the packet.
  arguments.NumTeams[0] = static_cast<uint32_t>(geometry.teams);
  arguments.ThreadLimit[0] = static_cast<uint32_t>(geometry.threads);
  return llvm_target_kernel(where, device, geometry.teams, geometry.threads, key, &arguments);
}
#else
int launch(Ident *where, int64_t device, Geometry geometry, void *key, __tgt_kernel_arguments &arguments) {
  if (arguments.Tripcount) llvm_push_tripcount(where, device, arguments.Tripcount);
  return llvm_target_teams(where, device, key, static_cast<int32_t>(arguments.NumArgs), arguments.ArgBasePtrs,
                           arguments.ArgPtrs, arguments.ArgSizes, arguments.ArgTypes, arguments.ArgNames,
                           arguments.ArgMappers, geometry.teams, geometry.threads);
}
#endif

} // namespace

int rex___tgt_target_kernel(const char *file, const char *function, int line, int64_t device, int32_t teams,
                            int32_t threads, void *key, const __tgt_kernel_arguments *arguments) {
  Location where(file, function, line);
  const int64_t number = runtime_device(where, device);
  Registration *registered = registration_for(where);
  if (!registered) return -1;

  const Geometry geometry = choose_geometry({teams, threads}, arguments->Tripcount, registered->kind());
  if (verbose())
    say(where.text() + ": launch " + kernel_name(key) + ", " + std::to_string(geometry.teams) + " teams of " +
        std::to_string(geometry.threads) + " threads, " + std::to_string(arguments->NumArgs) + " arguments");

  __tgt_kernel_arguments fresh = *arguments; // the runtime writes into the packet
  if (registered->kind() == Image::Kind::nvidia) return launch(where.ident(), number, geometry, key, fresh);
  HostArguments extended(fresh, geometry);
  return launch(where.ident(), number, geometry, key, fresh);
}

// ---- Data -----------------------------------------------------------------------------------------------

namespace {

/// Prints the items of a data call: what happens to each, as far as the map type says.
void say_items(const Location &where, const char *call, int32_t count, void **begins, const int64_t *sizes,
               const int64_t *types, void **names) {
  constexpr int64_t kTo = 1, kFrom = 2, kDelete = 8;
  for (int32_t i = 0; i < count; ++i) {
    char item[160];
    const char *name = names ? static_cast<const char *>(names[i]) : nullptr; // ";item;file;line;0;;"
    if (name && *name == ';')
      std::snprintf(item, sizeof item, "%.*s", static_cast<int>(std::strcspn(name + 1, ";")), name + 1);
    else
      std::snprintf(item, sizeof item, "%p", begins[i]);
    const char *kind = types[i] & kDelete                ? "delete"
                       : (types[i] & 3) == (kTo | kFrom) ? "tofrom"
                       : types[i] & kTo                  ? "to"
                       : types[i] & kFrom                ? "from"
                                                         : "alloc";
    say(where.text() + ": " + call + " " + kind + " " + item + ", " + std::to_string(sizes[i]) + " bytes");
  }
}

/// Whether a data call goes to the runtime.
bool data_call(const char *call, const Location &where, int32_t count, void **begins, const int64_t *sizes,
               const int64_t *types, void **names) {
  if (!registration_for(where)) return false;
  if (verbose()) say_items(where, call, count, begins, sizes, types, names);
  return true;
}

} // namespace

void rex___tgt_target_data_begin(const char *file, const char *function, int line, int64_t device,
                                 int32_t count, void **bases, void **begins, int64_t *sizes, int64_t *types,
                                 void **names) {
  Location where(file, function, line);
  const int64_t number = runtime_device(where, device);
  if (!data_call("data begin", where, count, begins, sizes, types, names)) return;
  llvm_data_begin(where.ident(), number, count, bases, begins, sizes, types, names, nullptr);
  // What is not on the device keeps its address (OpenMP 5.1); LLVM before 22 returns null.
  constexpr int64_t kReturned = 0x40;
  for (int32_t i = 0; i < count; ++i)
    if ((types[i] & kReturned) && !bases[i]) bases[i] = begins[i];
}

void rex___tgt_target_data_end(const char *file, const char *function, int line, int64_t device,
                               int32_t count, void **bases, void **begins, int64_t *sizes, int64_t *types,
                               void **names) {
  Location where(file, function, line);
  const int64_t number = runtime_device(where, device);
  if (data_call("data end", where, count, begins, sizes, types, names))
    llvm_data_end(where.ident(), number, count, bases, begins, sizes, types, names, nullptr);
}

void rex___tgt_target_data_update(const char *file, const char *function, int line, int64_t device,
                                  int32_t count, void **bases, void **begins, int64_t *sizes, int64_t *types,
                                  void **names) {
  Location where(file, function, line);
  const int64_t number = runtime_device(where, device);
  if (data_call("data update", where, count, begins, sizes, types, names))
    llvm_data_update(where.ident(), number, count, bases, begins, sizes, types, names, nullptr);
}

// ---- Lists of items -------------------------------------------------------------------------------------

namespace {

/// Marks members of a parent that stands too far behind: no type has all bits.
constexpr int64_t kTooFar = -1;

/// Room for twice as many items, or the end of the program.
template <class T> void grow(T *&items, int32_t capacity) {
  T *larger = static_cast<T *>(std::realloc(items, static_cast<size_t>(capacity) * sizeof(T)));
  if (!larger) {
    say("out of memory for " + std::to_string(capacity) + " map items");
    std::abort();
  }
  items = larger;
}

} // namespace

int64_t rex_map(struct rex_maps *maps, void *base, void *begin, int64_t bytes, int64_t type, void *name) {
  if (maps->count == maps->capacity) {
    maps->capacity = maps->capacity ? 2 * maps->capacity : 16;
    grow(maps->bases, maps->capacity);
    grow(maps->begins, maps->capacity);
    grow(maps->sizes, maps->capacity);
    grow(maps->types, maps->capacity);
    grow(maps->names, maps->capacity);
  }
  const int32_t at = maps->count++;
  maps->bases[at] = base;
  maps->begins[at] = begin;
  maps->sizes[at] = bytes;
  maps->types[at] = type;
  maps->names[at] = name;
  // A member names its parent in 16 bits; 0 is no parent.
  constexpr int32_t kParents = 0xffff;
  if (type == kTooFar) {
    say("more than " + std::to_string(kParents) + " structures behind pointers in one construct: map them in several");
    std::abort();
  }
  return at < kParents ? (at + INT64_C(1)) << 48 : kTooFar;
}

void rex_maps_free(struct rex_maps *maps) {
  std::free(maps->bases);
  std::free(maps->begins);
  std::free(maps->sizes);
  std::free(maps->types);
  std::free(maps->names);
  maps->count = maps->capacity = 0;
}
