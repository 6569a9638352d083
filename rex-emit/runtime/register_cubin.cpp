// register_cubin.cpp: gives a program's (or shared library's) device image to LLVM's offload runtime, and
// carries the calls of rex_kmp.h to it. The runtime is libomptarget, or liboffload with the data environment
// that is kept here.
//
// Compile it once per program or shared library, with the REX_LLVM_ABI of the lowered files:
//   -DREX_LLVM_ABI=19                          the LLVM version of libomptarget (14 to 22)
//   -DREX_EMBED_IMAGE="\"/path/to/image\""     puts the image into the program; otherwise it is searched
//   -DREX_IMAGE_NAME="\"my_library.cubin\""    the file that is searched, default rex_lib_nvidia.cubin
//   -DREX_RUNTIME="\"liboffload\""              carries the calls by LLVM 22's liboffload instead of libomptarget
//   -DREX_LIBOFFLOAD="\"/path/library\""        where that is, default libLLVMOffload.so.22.1
//   -DREX_CUDA_SPIN=0                          lets threads that wait for a GPU sleep
// and link with  -Wl,--no-as-needed -lomptarget -lomp.
//
// At run time:
//   REX_CUBIN_PATH=FILE-OR-FOLDER   where the image is
//   REX_VERBOSE=1                   prints each step, launch and transfer with its source line
//   REX_RUNTIME=liboffload          carries the calls: libomptarget or liboffload; REX_LIBOFFLOAD=FILE says where
//   REX_CUDA_SPIN=0                 threads that wait for a GPU sleep: fewer cycles, slower launches
//   OMP_TARGET_OFFLOAD              as OpenMP says: mandatory, disabled, or default
//
// In this order:
//   what LLVM's runtime defines, environment and messages, the loaded runtime, the image and where it is found
//   geometry of launches
//   LoadedImage: what a runtime does for an image; OmptargetImage
//   liboffload: interface, queues, memory, data environment, calls; LiboffloadImage
//   Registration and its life cycle: rex_offload_init, rex_offload_fini
//   OpenMP's device routines; the calls of lowered files; lists of map items

#include "rex_kmp.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef REX_IMAGE_NAME
#define REX_IMAGE_NAME "rex_lib_nvidia.cubin"
#endif
#ifndef REX_RUNTIME
#define REX_RUNTIME "libomptarget"
#endif
#ifndef REX_LIBOFFLOAD
#define REX_LIBOFFLOAD "libLLVMOffload.so.22.1"
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
/// The same for static data members of class templates.
rex_member_entry *first_member = nullptr;

/// The end of what begins at `at` in a mangled name: a substitution, an array's extent, a number, a word with its length, else one character.
size_t end_of_part(const std::string &name, size_t at) {
  static const char digits[] = "0123456789";
  const auto behind = [&name](size_t start, const char *characters) {
    return std::min(name.find_first_not_of(characters, start), name.size());
  };
  const size_t end = at + 1;
  if (name[at] == 'S' || name[at] == 'T') return behind(end, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"); // S1_
  if (name[at] == 'A') return behind(end, digits);                                                    // A8_i
  if (name[at] == 'L' && end < name.size() && name[end] >= 'a' && name[end] <= 'z')
    return behind(end + 1, "n0123456789"); // Li40E
  if (name[at] < '0' || name[at] > '9') return end;
  const size_t length = std::strtoul(name.c_str() + at, nullptr, 10);
  return std::min(behind(at, digits) + length, name.size());
}

/// The name of a type as typeid has it, from that or from what rex_name_of says without run-time type information: the symbol of a member,
/// where the name is the argument of a template, which counts as the first substitution.
std::string name_of_type(const std::string &written) {
  static const std::string before = "_ZN11rex_name_ofI", behind = "E8rex_markE";
  if (written.compare(0, before.size(), before) != 0 || written.size() < before.size() + behind.size())
    return written;
  const std::string counted = written.substr(before.size(), written.size() - before.size() - behind.size());
  const auto sequence = [](unsigned long number) { // S_ is nothing in front of the underscore, S0_ is 1
    std::string digits;
    if (number == 0) return digits;
    for (--number;; number /= 36) {
      digits.insert(digits.begin(), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % 36]);
      if (number < 36) return digits;
    }
  };
  std::string name;
  for (size_t at = 0, end; at < counted.size(); at = end) {
    end = end_of_part(counted, at);
    std::string part = counted.substr(at, end - at);
    if (part[0] == 'S' && part.size() > 1) part = "S" + sequence(std::strtoul(part.c_str() + 1, nullptr, 36));
    name += part;
  }
  return name;
}

/// A mangled name in which types and namespaces have the names that device code gives them: "NAME=OTHER NAME=OTHER".
std::string with_renamed_types(const std::string &name, const std::string &types) {
  if (types.empty()) return name;
  const std::string listed = " " + types + " ";
  const auto other_name = [&listed](const std::string &word) {
    const size_t at = listed.find(" " + word + "=");
    if (at == std::string::npos) return std::string();
    const size_t start = at + word.size() + 2;
    return listed.substr(start, listed.find(' ', start) - start);
  };
  std::string renamed;
  for (size_t at = 0, end; at < name.size(); at = end) {
    end = end_of_part(name, at);
    const std::string part = name.substr(at, end - at);
    const size_t word = part.find_first_not_of("0123456789");
    const std::string other = word == 0 || word == std::string::npos ? "" : other_name(part.substr(word));
    renamed += other.empty() ? part : std::to_string(other.size()) + other;
  }
  return renamed;
}

/// The device symbol of an instantiation. Its tag has the same name and arguments, so the compiler's name of
/// the tag has everything but the return type and the parameters (Itanium C++ ABI, 5.1.5).
std::string symbol_of(const rex_instance_entry &instance, bool on_host) {
  const std::string kernel = instance.kernel, written = std::to_string(kernel.size()) + kernel;
  std::string name = with_renamed_types(name_of_type(instance.type), instance.renamed_types);
  if (on_host) {
    const std::string entry = kernel + "__host_entry";
    const size_t at = name.find(written);
    if (at != std::string::npos) name.replace(at, written.size(), std::to_string(entry.size()) + entry);
    return "_Z" + name + "vmz"; // void (uint64_t, ...)
  }
  std::string parameters = REX_LLVM_ABI >= 18 ? "Pv" : "";
  parameters.append(static_cast<size_t>(instance.parameters), 'm');
  if (*instance.pack) // typename rex_packed<Types>::rex_type...
    parameters += std::string("DpN10rex_packedI") + instance.pack + "E8rex_typeE";
  return "_Z" + name + "v" + (parameters.empty() ? "v" : parameters); // void (void *, uint64_t, ...)
}

/// The device symbol of a static data member: a variable of a static member function of its class (Itanium C++ ABI,
/// 5.1.6). The name of the class, `3BoxIiE` or `N2ns3BoxIiEE`, stands first in it, so that both count the same substitutions.
std::string symbol_of(const rex_member_entry &entry) {
  std::string type = with_renamed_types(name_of_type(entry.type), entry.renamed_types);
  if (type.size() > 2 && type[0] == 'N' && type.back() == 'E') type = type.substr(1, type.size() - 2);
  const std::string function = std::string("rex_storage_") + entry.member;
  return "_ZZN" + type + std::to_string(function.size()) + function + "EvE10rex_object";
}

void replace_all(std::string &text, const std::string &what, const std::string &by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

/// A symbol in words, without what compilers name differently: their own names for lambdas, as in
/// rex_closure<F, N, P, ..., rex_lambda_end<F, N, ..> >, and _Float16, which is a class where the device compiler has none and
/// counts as a substitution. Empty for what has neither.
std::string in_words(const std::string &symbol) {
  static const std::string closure = "rex_closure<", end = "rex_lambda_end<";
  const auto has = [&symbol](const char *part) { return symbol.find(part) != std::string::npos; };
  if (!has("rex_closure") && !has("DF16_") && !has("11rex_float16")) return "";
  std::string known = symbol;
  replace_all(known, "DF16_", "Dh"); // `half`, which all demanglers know
  const auto demangled = [&known] {
    int status = 0;
    char *words = abi::__cxa_demangle(known.c_str(), nullptr, nullptr, &status);
    const std::string text = words ? words : "";
    std::free(words);
    return text;
  };
  std::string text = demangled();
  if (text.empty()) { // some demanglers know no parameter packs in the parameters of lambdas
    replace_all(known, "DpT", "T");
    text = demangled();
  }
  replace_all(text, "rex_float16", "half");
  for (size_t at = 0; (at = text.find(closure, at)) != std::string::npos;) {
    at += closure.size();
    const size_t file_and_number = text.find(',', text.find(',', at) + 1);
    if (file_and_number == std::string::npos) break;
    const std::string begin_of_end = end + text.substr(at, file_and_number - at);
    size_t last = text.find(begin_of_end, file_and_number);
    while (last != std::string::npos && !std::strchr(",>", text[last + begin_of_end.size()]))
      last = text.find(begin_of_end, last + 1);
    if (last == std::string::npos) break;
    text.erase(file_and_number, last - file_and_number);
  }
  return text;
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
  Location(const char *file, const char *function, int line) : file_(file), function_(function), line_(line) {}
  Location(const Location &) = delete;

  const char *file() const { return file_; }
  int line() const { return line_; }
  std::string text() const { return std::string(file_) + ":" + std::to_string(line_); }
  /// As libomptarget wants it; valid as long as this.
  Ident *ident() {
    int bytes = std::snprintf(text_, sizeof text_, ";%s;%s;%d;0;;", file_, function_, line_);
    if (bytes >= static_cast<int>(sizeof text_)) bytes = sizeof text_ - 1;
    ident_ = {0, 2, 0, bytes, text_};
    return &ident_;
  }

private:
  const char *file_, *function_;
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
  /// Bytes of shared memory that a kernel of a cubin has by itself; of one that is not known, the most that any has.
  uint64_t shared_bytes(const std::string &kernel) const {
    auto found = shared_bytes_.find(kernel);
    return found == shared_bytes_.end() ? most_shared_bytes_ : found->second;
  }
  /// Address of a defined symbol, or null.
  const uint64_t *symbol(const std::string &name) const {
    auto found = symbols_.find(name);
    return found == symbols_.end() ? nullptr : &found->second;
  }
  /// The image's own symbol for one with a lambda in its name; another symbol as it is.
  std::string own_symbol(const std::string &name) const;

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
  std::unordered_map<std::string, uint64_t> symbols_, shared_bytes_;
  uint64_t most_shared_bytes_ = 0;
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

std::string Image::own_symbol(const std::string &name) const {
  const std::string words = in_words(name);
  if (words.empty()) return name;
  for (const auto &symbol : symbols_)
    if (in_words(symbol.first) == words) return symbol.first;
  return name;
}

/// Fills symbols_ from every symbol table, shared_bytes_ from the sections .nv.shared.KERNEL. False when a section
/// lies beyond the end of the file.
bool Image::read_symbols(const Elf64_Ehdr &header) {
  const Elf64_Shdr *sections = record<Elf64_Shdr>(header.e_shoff, header.e_shnum);
  if (!sections) return false;
  for (unsigned i = 0; i < header.e_shnum; ++i)
    if (sections[i].sh_type != SHT_NOBITS && !record<char>(sections[i].sh_offset, sections[i].sh_size))
      return false;

  if (kind_ == Kind::nvidia && header.e_shstrndx < header.e_shnum) {
    const std::string prefix = ".nv.shared.";
    const Elf64_Shdr &strings = sections[header.e_shstrndx];
    for (unsigned i = 0; i < header.e_shnum; ++i) {
      if (sections[i].sh_name >= strings.sh_size) continue;
      const char *text = reinterpret_cast<const char *>(begin_ + strings.sh_offset + sections[i].sh_name);
      const std::string name(text, strnlen(text, strings.sh_size - sections[i].sh_name));
      if (name.compare(0, prefix.size(), prefix) != 0) continue;
      shared_bytes_[name.substr(prefix.size())] = sections[i].sh_size;
      most_shared_bytes_ = std::max<uint64_t>(most_shared_bytes_, sections[i].sh_size);
    }
  }

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

// ---- Geometry -------------------------------------------------------------------------------------------

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
  constexpr Default kHost = {4, 8, 1}, kHostEach = {4, 64, 1};
  const bool each = asked.teams == REX_TEAMS_EACH;
  const Default chosen = kind == Image::Kind::host      ? (each ? kHostEach : kHost)
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

// ---- A runtime with the image ---------------------------------------------------------------------------

/// The table of entries as a runtime knows it.
struct Table {
  std::list<std::string> names;
  std::vector<__tgt_offload_entry> entries;
  int32_t requirements = 0; // of `requires` directives
};

/// Items of a call: arrays of one length.
struct Items {
  int32_t count;
  void **bases, **begins;
  int64_t *sizes, *types;
  void **names;
};

/// Bits of map types (openmp/OpenMP/OMPTarget.h in LLVM's offload/include).
enum MapType : int64_t {
  kTo = 0x1,
  kFrom = 0x2,
  kAlways = 0x4,
  kDelete = 0x8,
  kPointerAndObject = 0x10,
  kParameter = 0x20,
  kReturn = 0x40,
  kPrivate = 0x80,
  kLiteral = 0x100,
  kImplicit = 0x200,
  kPresent = 0x1000,
  kHold = 0x2000,
  kMemberOf = static_cast<int64_t>(0xffff000000000000)
};

/// The index of the item that one is a member of, or -1.
inline int32_t parent_of(int64_t type) { return static_cast<int32_t>(static_cast<uint64_t>(type) >> 48) - 1; }

/// The number of the default device, for libomptarget and in calls of a LoadedImage.
constexpr int64_t kDefaultDevice = -1;

/// An image that a runtime has taken, and the calls that this runtime carries out for it. Its end takes the
/// image away.
class LoadedImage {
public:
  virtual ~LoadedImage() = default;
  /// Whether the runtime cannot take the image a second time in one process.
  virtual bool must_stay() const { return false; }
  virtual int launch(Location &where, int64_t device, Geometry geometry, void *key,
                     const __tgt_kernel_arguments &arguments) = 0;
  virtual void data_begin(Location &where, int64_t device, const Items &items) = 0;
  virtual void data_end(Location &where, int64_t device, const Items &items) = 0;
  virtual void data_update(Location &where, int64_t device, const Items &items) = 0;
};

// ---- libomptarget ---------------------------------------------------------------------------------------

/// Holding one reference keeps LLVM 19 and later alive when nothing is registered; without it their functions,
/// omp_get_num_devices too, crash then.
void hold_libomptarget() {
  static const bool held = [] {
    void (*hold)() = runtime_function<void()>("__tgt_rtl_init");
    if (hold) hold();
    return true;
  }();
  (void)held;
}

/// What libomptarget may still look at. It keeps pointers to all of this, and forgets none when an image is
/// unregistered: it looks at removed images when it registers the next (LLVM 19), and takes a table that comes
/// back at an old address for the old one. So both are kept, the bytes once for each different image. Never
/// destroyed.
struct Kept {
  struct Registered {
    Table table;
    DeviceImage image;
    BinaryDescriptor descriptor;
  };
  std::list<std::vector<unsigned char>> images;
  std::list<Registered> registered;
};

Kept &kept() {
  static Kept *const it = new Kept;
  return *it;
}

/// Where these bytes are kept.
const std::vector<unsigned char> &kept_copy(std::vector<unsigned char> &bytes) {
  std::list<std::vector<unsigned char>> &images = kept().images;
  auto same = std::find(images.begin(), images.end(), bytes);
  return same != images.end() ? *same : *images.insert(same, std::move(bytes));
}

/// Tells the runtime what the program requires. Last in the table: LLVM 22 takes one that begins with an entry
/// without address for one of the newer layout.
void add_requirements(Table &table) {
#if REX_LLVM_ABI >= 19
  const __tgt_offload_entry entry = REX_REQUIRES_ENTRY(table.requirements);
  if (!table.entries.empty()) table.entries.push_back(entry);
#else
  if (auto *require = runtime_function<void(int64_t)>("__tgt_register_requires")) require(table.requirements);
#endif
}

class OmptargetImage : public LoadedImage {
public:
  /// Null when libomptarget has no device for the image; `problems` says so.
  static std::unique_ptr<LoadedImage> load(Table &&table, const Image &image, std::vector<unsigned char> &bytes,
                                           Problems &problems);
  ~OmptargetImage() override { llvm_unregister_lib(descriptor_); }

  // LLVM 18 crashes when it launches from an image that was registered again.
  bool must_stay() const override { return loaded_llvm() == 18; }
  int launch(Location &where, int64_t device, Geometry geometry, void *key,
             const __tgt_kernel_arguments &arguments) override;
  void data_begin(Location &where, int64_t device, const Items &items) override {
    llvm_data_begin(where.ident(), device, items.count, items.bases, items.begins, items.sizes, items.types,
                    items.names, nullptr);
    // What is not on the device keeps its address (OpenMP 5.1); LLVM before 22 returns null.
    for (int32_t i = 0; i < items.count; ++i)
      if ((items.types[i] & kReturn) && !items.bases[i]) items.bases[i] = items.begins[i];
  }
  void data_end(Location &where, int64_t device, const Items &items) override {
    llvm_data_end(where.ident(), device, items.count, items.bases, items.begins, items.sizes, items.types,
                  items.names, nullptr);
  }
  void data_update(Location &where, int64_t device, const Items &items) override {
    llvm_data_update(where.ident(), device, items.count, items.bases, items.begins, items.sizes, items.types,
                     items.names, nullptr);
  }

private:
  OmptargetImage(BinaryDescriptor *descriptor, Image::Kind kind) : descriptor_(descriptor), kind_(kind) {}

  BinaryDescriptor *descriptor_;
  Image::Kind kind_;
};

std::unique_ptr<LoadedImage> OmptargetImage::load(Table &&table, const Image &image,
                                                  std::vector<unsigned char> &bytes, Problems &problems) {
  hold_libomptarget();
  const std::vector<unsigned char> &content = kept_copy(bytes);
  kept().registered.emplace_back();
  Kept::Registered &it = kept().registered.back();
  it.table = std::move(table);
  if (it.table.requirements) add_requirements(it.table);
  __tgt_offload_entry *begin = it.table.entries.data(), *end = begin + it.table.entries.size();
  it.image = {content.data(), content.data() + content.size(), begin, end};
  it.descriptor = {1, &it.image, begin, end};
  llvm_register_lib(&it.descriptor);
  std::unique_ptr<LoadedImage> loaded(new OmptargetImage(&it.descriptor, image.kind()));

  const std::string llvm = std::to_string(loaded_llvm());
  auto *num_devices = runtime_function<int()>("omp_get_num_devices");
  const int devices = num_devices ? num_devices() : 1;
  if (devices == 0) {
    problems.add("LLVM " + llvm + " found no device for the image: is its plugin for " +
                 (image.kind() == Image::Kind::nvidia ? "CUDA" : "the host") + " installed (libomp-" + llvm +
                 "-dev)?");
    return nullptr;
  }
  if (verbose())
    say("registered " + std::to_string(it.table.entries.size()) + " entries with LLVM " + llvm + ", " +
        std::to_string(devices) + " devices");
  return loaded;
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

#if REX_LLVM_ABI >= 15
int omptarget_launch(Ident *where, int64_t device, Geometry geometry, void *key, __tgt_kernel_arguments &arguments) {
  arguments.StructVersion = REX_LLVM_ABI >= 19 ? 3 : REX_LLVM_ABI >= 16 ? 2 : 1;
  // 15 reads the parameters, 16 and later read the packet.
  arguments.NumTeams[0] = static_cast<uint32_t>(geometry.teams);
  arguments.ThreadLimit[0] = static_cast<uint32_t>(geometry.threads);
  return llvm_target_kernel(where, device, geometry.teams, geometry.threads, key, &arguments);
}
#else
int omptarget_launch(Ident *where, int64_t device, Geometry geometry, void *key, __tgt_kernel_arguments &arguments) {
  if (arguments.Tripcount) llvm_push_tripcount(where, device, arguments.Tripcount);
  return llvm_target_teams(where, device, key, static_cast<int32_t>(arguments.NumArgs), arguments.ArgBasePtrs,
                           arguments.ArgPtrs, arguments.ArgSizes, arguments.ArgTypes, arguments.ArgNames,
                           arguments.ArgMappers, geometry.teams, geometry.threads);
}
#endif

int OmptargetImage::launch(Location &where, int64_t device, Geometry geometry, void *key,
                           const __tgt_kernel_arguments &arguments) {
  __tgt_kernel_arguments fresh = arguments; // the runtime writes into the packet
  if (kind_ == Image::Kind::nvidia) return omptarget_launch(where.ident(), device, geometry, key, fresh);
  HostArguments extended(fresh, geometry);
  return omptarget_launch(where.ident(), device, geometry, key, fresh);
}

// ---- liboffload: its interface --------------------------------------------------------------------------

/// libLLVMOffload as LLVM 22 has it (offload/OffloadAPI.h). It knows devices, memory, queues and kernels, and
/// nothing of OpenMP: the data environment is kept below.
namespace ol {

struct Error {
  int32_t code;
  const char *details;
};
using Result = const Error *; // null: success
using Device = struct DeviceHandle *;
using Platform = struct PlatformHandle *;
using Program = struct ProgramHandle *;
using Queue = struct QueueHandle *;
using Symbol = struct SymbolHandle *;
using DeviceVisitor = bool (*)(Device, void *data);

struct Dimensions {
  uint32_t x, y, z;
};
struct LaunchSize {
  size_t dimensions;
  Dimensions groups, group_size;
  size_t shared_bytes;
};
static_assert(sizeof(LaunchSize) == 40, "layout of ol_kernel_launch_size_args_t");

enum Property : int32_t { kDevicePlatform = 1, kPlatformBackend = 3, kVariableAddress = 1 };
enum Backend : int32_t { kHost = 4 };
enum Memory : int32_t { kDeviceMemory = 1 };
enum SymbolKind : int32_t { kKernel = 0, kVariable = 1 };

} // namespace ol

#define REX_OL_FUNCTIONS(FUNCTION)                                                                           \
  FUNCTION(olInit, ())                                                                                       \
  FUNCTION(olShutDown, ())                                                                                   \
  FUNCTION(olIterateDevices, (ol::DeviceVisitor, void *))                                                    \
  FUNCTION(olGetDeviceInfo, (ol::Device, ol::Property, size_t, void *))                                      \
  FUNCTION(olGetPlatformInfo, (ol::Platform, ol::Property, size_t, void *))                                  \
  FUNCTION(olIsValidBinary, (ol::Device, const void *, size_t, bool *))                                      \
  FUNCTION(olCreateProgram, (ol::Device, const void *, size_t, ol::Program *))                               \
  FUNCTION(olDestroyProgram, (ol::Program))                                                                  \
  FUNCTION(olGetSymbol, (ol::Program, const char *, ol::SymbolKind, ol::Symbol *))                           \
  FUNCTION(olGetSymbolInfo, (ol::Symbol, ol::Property, size_t, void *))                                      \
  FUNCTION(olMemAlloc, (ol::Device, ol::Memory, size_t, void **))                                            \
  FUNCTION(olMemFree, (void *))                                                                              \
  FUNCTION(olMemcpy, (ol::Queue, void *, ol::Device, const void *, ol::Device, size_t))                      \
  FUNCTION(olMemFill, (ol::Queue, void *, size_t, const void *, size_t))                                     \
  FUNCTION(olCreateQueue, (ol::Device, ol::Queue *))                                                         \
  FUNCTION(olDestroyQueue, (ol::Queue))                                                                      \
  FUNCTION(olSyncQueue, (ol::Queue))                                                                         \
  FUNCTION(olLaunchKernel,                                                                                   \
           (ol::Queue, ol::Device, ol::Symbol, const void *, size_t, const ol::LaunchSize *))

/// The loaded library.
struct Liboffload {
#define REX_OL_MEMBER(name, parameters) ol::Result(*name) parameters = nullptr;
  REX_OL_FUNCTIONS(REX_OL_MEMBER)
#undef REX_OL_MEMBER

  bool open(Problems &problems);

private:
  void *library_ = nullptr;
};

/// One for all images of a program or library; it stays open.
Liboffload &liboffload() {
  static Liboffload *const it = new Liboffload;
  return *it;
}

/// Loads the library that REX_LIBOFFLOAD names; else the one the program was built for, else LLVM 22's where
/// the loader or libomptarget has it.
bool Liboffload::open(Problems &problems) {
  if (library_) return true;
  const char *wish = std::getenv("REX_LIBOFFLOAD");
  std::vector<std::string> names = {REX_LIBOFFLOAD, "libLLVMOffload.so.22.1"};
  Dl_info runtime;
  if (dladdr(dlsym(RTLD_DEFAULT, "__tgt_register_lib"), &runtime)) {
    const std::string path = runtime.dli_fname;
    names.push_back(path.substr(0, path.rfind('/') + 1) + "libLLVMOffload.so.22.1");
  }
  if (wish && *wish) names.assign(1, wish);

  void *opened = nullptr;
  std::string name, reason;
  for (size_t i = 0; i < names.size() && !opened; ++i) {
    name = names[i];
    opened = dlopen(name.c_str(), RTLD_NOW);
    if (!opened && i == 0) reason = dlerror();
  }
  if (!opened) {
    problems.add("cannot load liboffload (" + reason +
                 "): install liboffload-22, name the library with REX_LIBOFFLOAD, or set REX_RUNTIME=libomptarget");
    return false;
  }
  std::string missing;
#define REX_OL_LOAD(name, parameters)                                                                        \
  name = reinterpret_cast<ol::Result(*) parameters>(dlsym(opened, #name));                                   \
  if (!name) missing += " " #name;
  REX_OL_FUNCTIONS(REX_OL_LOAD)
#undef REX_OL_LOAD
  const bool is_newer = dlsym(opened, "olCreateContext"); // LLVM 23 gives most functions another parameter
  if (!missing.empty() || is_newer) {
    problems.add(name + " is not the liboffload of LLVM 22" + (is_newer ? "" : ", it lacks" + missing) +
                 ": set REX_LIBOFFLOAD or REX_RUNTIME=libomptarget");
    dlclose(opened);
    return false;
  }
  library_ = opened;
  return true;
}

/// A failure of the device ends the process, as with libomptarget: results are lost.
[[noreturn]] void device_failed(const std::string &where, const std::string &what) {
  say(where + ": " + what);
  std::abort();
}

void check(ol::Result result, const std::string &where, const char *what) {
  if (result) device_failed(where, std::string(what) + " failed: " + (result->details ? result->details : "?"));
}

// ---- liboffload: queues ---------------------------------------------------------------------------------
//
// A host thread has one queue on each device, and waits for it only where the program can see a result: after
// transfers back, before device pointers or memory leave this file, at the end of a data region, at exit.
// Work in one queue is done in order. Work of another thread's queue is waited for before its data are used.

class Queue;

/// The last work of a queue that concerns some data.
struct Use {
  Queue *queue = nullptr;
  uint64_t ticket = 0;
  bool is_pending() const;
};

class Queue {
public:
  Queue(ol::Device device, ol::Device host) : device_(device), host_(host) {
    check(liboffload().olCreateQueue(device, &handle_), "liboffload", "olCreateQueue");
  }
  Queue(const Queue &) = delete;
  ~Queue() {
    wait();
    liboffload().olDestroyQueue(handle_);
  }

  /// `from` may change as soon as the call returns, if it is small; otherwise after wait_for_reads.
  void copy_in(void *to, const void *from, size_t bytes);
  /// `to` is written when wait returns.
  void copy_out(void *to, const void *from, size_t bytes);
  void copy_between(void *to, ol::Device to_device, const void *from, size_t bytes);
  void fill(void *to, unsigned char value, size_t bytes);
  void launch(const Location &where, ol::Symbol kernel, const std::vector<uint64_t> &slots,
              const ol::LaunchSize &size);

  void wait();
  /// Waits while the device may still read memory of the program.
  void wait_for_reads() {
    if (reads_program_) wait();
  }
  Use use() { return {this, issued_.load(std::memory_order_relaxed)}; }
  bool has_finished(uint64_t ticket) const { return finished_.load(std::memory_order_acquire) >= ticket; }
  bool is_idle() const { return has_finished(issued_.load(std::memory_order_relaxed)); }

private:
  static constexpr size_t kSmall = 64 << 10, kStaging = 1 << 20;

  void added(ol::Result result, const char *what) {
    if (result) check(result, last_work(), what);
    issued_.store(issued_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void wait_locked();
  std::string last_work() const {
    return line_ ? std::string("after the launch at ") + file_ + ":" + std::to_string(line_) : "liboffload";
  }

  std::mutex lock_; // another thread may wait for this queue
  ol::Device device_, host_;
  ol::Queue handle_ = nullptr;
  std::atomic<uint64_t> issued_{0}, finished_{0};
  std::atomic<bool> reads_program_{false};
  std::unique_ptr<char[]> staging_; // copies of small things that are on their way
  size_t staged_ = 0;
  char file_[128]; // of the last launch; a copy, because its library may be closed
  int line_ = 0;
};

bool Use::is_pending() const { return queue && !queue->has_finished(ticket); }

void Queue::copy_in(void *to, const void *from, size_t bytes) {
  std::lock_guard<std::mutex> guard(lock_);
  if (bytes <= kSmall) {
    if (!staging_) staging_.reset(new char[kStaging]);
    if (staged_ + bytes > kStaging) wait_locked();
    from = std::memcpy(staging_.get() + staged_, from, bytes);
    staged_ += (bytes + 15) / 16 * 16;
  } else {
    reads_program_ = true;
  }
  added(liboffload().olMemcpy(handle_, to, device_, from, host_, bytes), "transfer to the device");
}

void Queue::copy_out(void *to, const void *from, size_t bytes) {
  std::lock_guard<std::mutex> guard(lock_);
  added(liboffload().olMemcpy(handle_, to, host_, from, device_, bytes), "transfer from the device");
}

void Queue::copy_between(void *to, ol::Device to_device, const void *from, size_t bytes) {
  std::lock_guard<std::mutex> guard(lock_);
  added(liboffload().olMemcpy(handle_, to, to_device, from, device_, bytes), "transfer between devices");
}

void Queue::fill(void *to, unsigned char value, size_t bytes) {
  std::lock_guard<std::mutex> guard(lock_);
  added(liboffload().olMemFill(handle_, to, 1, &value, bytes), "olMemFill");
}

void Queue::launch(const Location &where, ol::Symbol kernel, const std::vector<uint64_t> &slots,
                   const ol::LaunchSize &size) {
  std::lock_guard<std::mutex> guard(lock_);
  std::snprintf(file_, sizeof file_, "%s", where.file());
  line_ = where.line();
  added(liboffload().olLaunchKernel(handle_, device_, kernel, slots.data(), slots.size() * sizeof slots[0], &size),
        "launch");
}

void Queue::wait() {
  std::lock_guard<std::mutex> guard(lock_);
  wait_locked();
}

void Queue::wait_locked() {
  if (is_idle()) return;
  if (ol::Result failure = liboffload().olSyncQueue(handle_)) check(failure, last_work(), "device code");
  finished_.store(issued_.load(std::memory_order_relaxed), std::memory_order_release);
  reads_program_ = false;
  staged_ = 0;
}

// ---- liboffload: memory of a device ---------------------------------------------------------------------

/// Device memory that mapped items no longer need, for the next ones: the driver takes many microseconds to
/// give memory out and waits for the device to take it back.
class MemoryPool {
public:
  explicit MemoryPool(ol::Device device) : device_(device) {}

  /// Memory for work in `mine`. Null: there is none.
  void *take(size_t bytes, Queue &mine) {
    std::lock_guard<std::mutex> guard(lock_);
    std::vector<Free> &blocks = free_[rounded(bytes)];
    for (size_t i = blocks.size(); i-- > 0;) {
      if (blocks[i].last.queue != &mine && blocks[i].last.is_pending()) continue;
      void *found = blocks[i].memory;
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i));
      free_bytes_ -= rounded(bytes);
      return found;
    }
    void *made = nullptr;
    if (!liboffload().olMemAlloc(device_, ol::kDeviceMemory, rounded(bytes), &made)) return made;
    clear_locked();
    return liboffload().olMemAlloc(device_, ol::kDeviceMemory, rounded(bytes), &made) ? nullptr : made;
  }

  void give_back(void *memory, size_t bytes, const Use &last) {
    std::lock_guard<std::mutex> guard(lock_);
    if (rounded(bytes) > kLargest) {
      release({memory, last});
    } else {
      free_[rounded(bytes)].push_back({memory, last});
      free_bytes_ += rounded(bytes);
      if (free_bytes_ > kMost) clear_locked();
    }
  }

  void clear() {
    std::lock_guard<std::mutex> guard(lock_);
    clear_locked();
  }

private:
  static constexpr size_t kLargest = 32 << 20, kMost = 256 << 20;
  struct Free {
    void *memory;
    Use last;
  };

  /// To an eighth of the next smaller power of two: similar sizes use the same blocks.
  static size_t rounded(size_t bytes) {
    size_t step = 256;
    while (step * 16 <= bytes) step *= 2;
    return (std::max<size_t>(bytes, 1) + step - 1) / step * step;
  }
  static void release(const Free &block) {
    if (block.last.is_pending()) block.last.queue->wait();
    liboffload().olMemFree(block.memory);
  }
  void clear_locked() {
    for (auto &size : free_) std::for_each(size.second.begin(), size.second.end(), release);
    free_.clear();
    free_bytes_ = 0;
  }

  std::mutex lock_;
  ol::Device device_;
  std::unordered_map<size_t, std::vector<Free>> free_; // by size
  size_t free_bytes_ = 0;
};

/// A pointer on the device that points to a mapped item (OpenMP: attached).
struct AttachedPointer {
  char *place;        // of the pointer on the host
  void *host, *value; // its value here and there
};

/// Host memory that has a counterpart on the device.
struct Entry {
  char *begin, *end, *base; // base: of the array that the mapped section is part of
  char *device;             // counterpart of begin
  void *memory = nullptr;   // what to give back, unless is_permanent
  size_t memory_bytes = 0;
  uint64_t count = 0, held = 0; // references; held are those of ompx_hold
  bool is_permanent = false;    // a declare target variable, or omp_target_associate_ptr
  Use last;
  std::vector<AttachedPointer> pointers;

  char *device_of(const void *host) const { return device + (static_cast<const char *>(host) - begin); }
  bool is_last(bool hold, bool all) const {
    if (is_permanent || (hold ? count : held) > 0) return false;
    return all || (hold ? held : count) == 1;
  }
};

/// One device and its data environment.
struct Device {
  Device(int number, uint64_t id, ol::Device handle, ol::Device host)
      : number(number), id(id), handle(handle), host(host), pool(handle) {}

  /// The queue of the running thread.
  Queue &queue();
  bool has_other_queues() { return queues_count.load(std::memory_order_acquire) > 1; }
  void wait_for_queues();

  /// The entry that has [begin, begin + bytes), or (`is_inside` false) the first that has a part of it. Null:
  /// none. Without bytes an entry is found by an address in it, or in the part of its array before it.
  Entry *find(const void *begin, size_t bytes, bool &is_inside);
  Entry *find(const void *begin, size_t bytes) {
    bool is_inside = false;
    Entry *found = find(begin, bytes, is_inside);
    return is_inside ? found : nullptr;
  }
  /// Whether an address is one of this device's memory, as far as it was made here.
  bool owns(const void *address) const;

  const int number;
  const uint64_t id; // never used again
  const ol::Device handle, host;
  std::mutex lock;                  // of what follows
  std::map<char *, Entry> present;  // by the first byte on the host
  std::map<char *, size_t> foreign; // of omp_target_alloc
  Use unknown;                      // a launch whose data cannot be told from its arguments
  MemoryPool pool;

  std::mutex queues_lock;
  std::map<pthread_t, Queue *> queue_of_thread; // a thread that ended leaves its queue to a new one
  std::vector<std::unique_ptr<Queue>> queues;
  std::atomic<size_t> queues_count{0};
};

Queue &Device::queue() {
  static thread_local struct {
    uint64_t device_id;
    Queue *queue;
  } known = {0, nullptr};
  if (known.device_id == id) return *known.queue;

  constexpr size_t kQueuesMax = 64; // more threads share
  std::lock_guard<std::mutex> guard(queues_lock);
  Queue *&mine = queue_of_thread[pthread_self()];
  if (!mine && queues.size() < kQueuesMax) {
    queues.emplace_back(new Queue(handle, host));
    queues_count = queues.size();
    mine = queues.back().get();
  } else if (!mine) {
    mine = queues[queue_of_thread.size() % kQueuesMax].get();
  }
  known = {id, mine};
  return *mine;
}

void Device::wait_for_queues() {
  std::lock_guard<std::mutex> guard(queues_lock);
  for (auto &queue : queues) queue->wait();
}

Entry *Device::find(const void *address, size_t bytes, bool &is_inside) {
  char *begin = static_cast<char *>(const_cast<void *>(address));
  is_inside = false;
  auto after = present.upper_bound(begin);
  Entry *before = after == present.begin() ? nullptr : &std::prev(after)->second;
  Entry *behind = after == present.end() ? nullptr : &after->second;
  if (bytes == 0) {
    if (before && begin < before->end)
      is_inside = true;
    else if (behind && begin >= behind->base)
      return is_inside = true, behind;
    return is_inside ? before : nullptr;
  }
  if (before && begin < before->end) {
    is_inside = begin + bytes <= before->end;
    return before;
  }
  return behind && begin + bytes > behind->begin ? behind : nullptr;
}

bool Device::owns(const void *address) const {
  char *at = static_cast<char *>(const_cast<void *>(address));
  auto after = foreign.upper_bound(at);
  if (after != foreign.begin() && at < std::prev(after)->first + std::prev(after)->second) return true;
  return std::any_of(present.begin(), present.end(), [at](const std::pair<char *const, Entry> &it) {
    const Entry &entry = it.second;
    return at >= entry.device && at < entry.device_of(entry.end);
  });
}

// ---- liboffload: the data environment of the process ----------------------------------------------------

/// Devices and what is mapped to them. All programs and libraries of a process that are lowered by rex share
/// it, each with its own copy of this file; it has no pointers to code, so any of them may be closed.
struct Environment {
  std::mutex lock;
  int images = 0;
  uint64_t devices_made = 0;
  std::vector<std::unique_ptr<Device>> devices;

  /// Counted, as olInit and olShutDown are.
  bool start(Problems &problems);
  void stop();
  /// The device of a call. Null: the host.
  Device *device(int64_t number, const Location &where);
};

} // namespace

extern "C" {
/// Where this program or library keeps the environment; null until it needs it.
__attribute__((used)) REX_HIDDEN void *rex_environment = nullptr;
}

// Tells the others where that is: a note is found in every loaded object.
#define REX_ENVIRONMENT_LAYOUT 1
// clang-format off
__asm__(".pushsection .note.rex, \"a\", @note\n.balign 4\n"
        ".long 4, 8, " REX_TEXT(REX_ENVIRONMENT_LAYOUT) "\n.asciz \"rex\"\n.quad rex_environment - .\n"
        ".popsection\n");
// clang-format on

namespace {

/// The environment that a loaded object's note leads to. Null: it has none.
void *environment_of(const dl_phdr_info &object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE || segment.p_align > 4) continue;
    const char *note = reinterpret_cast<const char *>(object.dlpi_addr + segment.p_vaddr);
    const char *end = note + segment.p_memsz;
    while (static_cast<size_t>(end - note) >= sizeof(ElfW(Nhdr))) {
      const auto *header = reinterpret_cast<const ElfW(Nhdr) *>(note);
      const char *name = note + sizeof *header, *content = name + (header->n_namesz + 3) / 4 * 4;
      if (header->n_namesz == 4 && std::memcmp(name, "rex", 4) == 0 && header->n_type == REX_ENVIRONMENT_LAYOUT) {
        int64_t distance;
        std::memcpy(&distance, content, sizeof distance);
        return *reinterpret_cast<void *const *>(content + distance);
      }
      note = content + (header->n_descsz + 3) / 4 * 4;
    }
  }
  return nullptr;
}

/// The one environment of the process. The loader's lock, which dl_iterate_phdr holds, makes it one.
Environment &environment() {
  static Environment *const it = [] {
    const auto visit = [](dl_phdr_info *object, size_t, void *found) {
      *static_cast<void **>(found) = environment_of(*object);
      return *static_cast<void **>(found) ? 1 : 0;
    };
    const auto find_or_make = [](dl_phdr_info *, size_t, void *visitor) {
      void *found = nullptr;
      dl_iterate_phdr(reinterpret_cast<int (*)(dl_phdr_info *, size_t, void *)>(visitor), &found);
      rex_environment = found ? found : new Environment;
      return 1;
    };
    int (*visitor)(dl_phdr_info *, size_t, void *) = visit;
    dl_iterate_phdr(find_or_make, reinterpret_cast<void *>(visitor));
    return static_cast<Environment *>(rex_environment);
  }();
  return *it;
}

bool Environment::start(Problems &problems) {
  std::lock_guard<std::mutex> guard(lock);
  const Liboffload &library = liboffload();
  if (ol::Result failure = library.olInit()) {
    problems.add(std::string("liboffload does not start: ") + failure->details);
    return false;
  }
  if (++images > 1) return true;

  std::vector<ol::Device> found;
  library.olIterateDevices(
      [](ol::Device device, void *all) {
        static_cast<std::vector<ol::Device> *>(all)->push_back(device);
        return true;
      },
      &found);
  const auto is_host = [&library](ol::Device device) {
    ol::Platform platform = nullptr;
    int32_t backend = 0;
    library.olGetDeviceInfo(device, ol::kDevicePlatform, sizeof platform, &platform);
    library.olGetPlatformInfo(platform, ol::kPlatformBackend, sizeof backend, &backend);
    return backend == ol::kHost;
  };
  const auto host = std::find_if(found.begin(), found.end(), is_host);
  for (ol::Device device : found)
    if (host != found.end() && !is_host(device))
      devices.emplace_back(new Device(static_cast<int>(devices.size()), ++devices_made, device, *host));
  return true;
}

void Environment::stop() {
  std::lock_guard<std::mutex> guard(lock);
  if (--images == 0) {
    for (auto &device : devices) {
      device->wait_for_queues();
      device->pool.clear();
      for (auto &it : device->present)
        if (!it.second.is_permanent) liboffload().olMemFree(it.second.memory);
    }
    devices.clear();
  }
  liboffload().olShutDown();
}

int default_device() {
  static auto *const ask = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_default_device"));
  return ask ? ask() : 0;
}

Device *Environment::device(int64_t number, const Location &where) {
  if (number == kDefaultDevice) number = default_device();
  const int64_t count = static_cast<int64_t>(devices.size());
  if (number == count) return nullptr;
  if (number < 0 || number > count)
    device_failed(where.text(), "there is no device " + std::to_string(number) + ", only " + std::to_string(count));
  return devices[static_cast<size_t>(number)].get();
}

/// Keeps what is mapped while an image is replaced.
class EnvironmentHold {
public:
  explicit EnvironmentHold(bool is_wanted) {
    Problems problems;
    holds_ = is_wanted && environment().start(problems);
  }
  EnvironmentHold(const EnvironmentHold &) = delete;
  ~EnvironmentHold() {
    if (holds_) environment().stop();
  }

private:
  bool holds_;
};

// ---- liboffload: a call at work -------------------------------------------------------------------------

/// What a call does to the data environment of a device, as OpenMP says and libomptarget does. All but
/// `finish` want the device's lock held.
class RegionCall {
public:
  RegionCall(Device &device, const Location &where) : device_(device), queue_(device.queue()), where_(where) {}

  /// Maps items on entry of a region.
  void enter(const Items &items);
  /// Unmaps them on exit, in the other direction.
  void leave(const Items &items);
  void update(const Items &items);
  /// Appends the values of a kernel's parameters.
  void add_arguments(const Items &items, std::vector<uint64_t> &slots);
  void launch(ol::Symbol kernel, const std::vector<uint64_t> &slots, const ol::LaunchSize &size,
              bool has_variables);
  /// Waits if the program can see that something is not done. Without the lock.
  void finish(bool must_wait);

private:
  Entry *enter_one(void *base, void *begin, size_t bytes, int64_t type, bool counts);
  Entry &add(char *base, char *begin, size_t bytes);
  void attach(Entry &pointer, char *place, void *host, void *value);
  void copy_in(Entry &entry, void *begin, size_t bytes);
  void copy_out(Entry &entry, void *begin, size_t bytes);
  void add_private_copies(const Items &items, std::vector<void *> &places);
  /// Other threads' work with these data comes first.
  void come_after(const Use &use) {
    if (use.queue != &queue_ && use.is_pending()) use.queue->wait();
  }
  void come_after_users_of(const Entry &entry) {
    come_after(entry.last);
    come_after(device_.unknown);
  }
  [[noreturn]] void refuse(const void *begin, size_t bytes, const char *why) const {
    char item[96];
    std::snprintf(item, sizeof item, "%zu bytes at %p: ", bytes, begin);
    device_failed(where_.text(), item + std::string(why));
  }

  struct Memory {
    void *memory;
    size_t bytes;
    Use last;
  };

  Device &device_;
  Queue &queue_;
  const Location &where_;
  std::vector<Entry *> used_;
  bool uses_unknown_ = false, copied_out_ = false, gives_pointers_ = false;
  std::vector<AttachedPointer> overwritten_; // host pointers that a transfer back replaced
  std::vector<Memory> unused_;
};

void RegionCall::enter(const Items &items) {
  for (int32_t i = 0; i < items.count; ++i) {
    const int64_t type = items.types[i];
    if (type & (kLiteral | kPrivate)) continue;
    const size_t bytes = static_cast<size_t>(items.sizes[i]);
    char *base = static_cast<char *>(items.bases[i]), *begin = static_cast<char *>(items.begins[i]);
    bool counts = !(type & kMemberOf); // a member lives as long as its structure
    Entry *pointer = nullptr;
    char *place = base;
    if (type & kPointerAndObject) {
      pointer = enter_one(place, place, sizeof(void *), type & ~(kTo | kAlways), counts);
      base = *reinterpret_cast<char **>(place);
      counts = true;
    }
    Entry *entry = enter_one(base, begin, bytes, type, counts);
    if (type & kReturn) {
      gives_pointers_ = true;
      items.bases[i] = entry ? entry->device_of(begin) - (begin - base) : begin; // OpenMP 5.1: as it was
    }
    if (pointer && entry) attach(*pointer, place, base, entry->device_of(begin) - (begin - base));
  }
}

Entry *RegionCall::enter_one(void *base, void *begin, size_t bytes, int64_t type, bool counts) {
  bool is_inside = false, is_new = false;
  Entry *entry = device_.find(begin, bytes, is_inside);
  if (entry && !is_inside && !(type & kImplicit))
    refuse(begin, bytes, "a part of it is mapped already; unmap that first or map all at once");
  if (!entry) {
    if (type & kPresent) refuse(begin, bytes, "must be present on the device (map modifier present) and is not");
    if (bytes == 0) return nullptr;
    entry = &add(static_cast<char *>(base), static_cast<char *>(begin), bytes);
    is_new = true;
  }
  if ((counts || is_new) && !entry->is_permanent) ++(type & kHold ? entry->held : entry->count);
  // The structure of a member stands before it in the same call.
  const bool is_first = is_new || ((type & kMemberOf) && !counts && entry->count + entry->held == 1);
  if ((type & kTo) && (is_first || (type & kAlways)) && bytes > 0) copy_in(*entry, begin, bytes);
  used_.push_back(entry);
  return entry;
}

/// Makes an entry whose device memory is aligned as the host memory is, to 16 bytes.
Entry &RegionCall::add(char *base, char *begin, size_t bytes) {
  const size_t shift = reinterpret_cast<uintptr_t>(begin) % 16;
  void *memory = device_.pool.take(bytes + shift, queue_);
  if (!memory) refuse(begin, bytes, "no memory on the device");
  Entry entry;
  entry.begin = begin;
  entry.end = begin + bytes;
  entry.base = base;
  entry.device = static_cast<char *>(memory) + shift;
  entry.memory = memory;
  entry.memory_bytes = bytes + shift;
  entry.last = queue_.use();
  return device_.present.emplace(begin, entry).first->second;
}

void RegionCall::attach(Entry &pointer, char *place, void *host, void *value) {
  for (AttachedPointer &known : pointer.pointers) {
    if (known.place != place) continue;
    if (known.host == host && known.value == value) return;
    known = {place, host, value};
    copy_in(pointer, place, 0);
    return;
  }
  pointer.pointers.push_back({place, host, value});
  copy_in(pointer, place, 0);
}

/// Copies a part of an entry, and its attached pointers as the device needs them.
void RegionCall::copy_in(Entry &entry, void *part, size_t bytes) {
  come_after_users_of(entry);
  char *begin = std::max(static_cast<char *>(part), entry.begin);
  char *end = std::min(static_cast<char *>(part) + bytes, entry.end);
  if (begin < end) queue_.copy_in(entry.device_of(begin), begin, static_cast<size_t>(end - begin));
  for (AttachedPointer &pointer : entry.pointers)
    if (pointer.place == part || (pointer.place >= begin && pointer.place < end))
      queue_.copy_in(entry.device_of(pointer.place), &pointer.value, sizeof pointer.value);
  entry.last = queue_.use();
}

/// Copies a part of an entry back. Attached pointers keep their values of the host.
void RegionCall::copy_out(Entry &entry, void *part, size_t bytes) {
  come_after_users_of(entry);
  char *begin = std::max(static_cast<char *>(part), entry.begin);
  char *end = std::min(static_cast<char *>(part) + bytes, entry.end);
  if (begin >= end) return;
  queue_.copy_out(begin, entry.device_of(begin), static_cast<size_t>(end - begin));
  copied_out_ = true;
  for (const AttachedPointer &pointer : entry.pointers)
    if (pointer.place >= begin && pointer.place < end) overwritten_.push_back(pointer);
  entry.last = queue_.use();
}

void RegionCall::leave(const Items &items) {
  for (int32_t i = items.count; i-- > 0;) { // members before their structure
    const int64_t type = items.types[i];
    if (type & (kLiteral | kPrivate)) continue;
    const size_t bytes = static_cast<size_t>(items.sizes[i]);
    const bool counts = !(type & kMemberOf) || (type & kPointerAndObject);
    bool is_inside = false;
    Entry *entry = device_.find(items.begins[i], bytes, is_inside);
    if (!entry || (!is_inside && !(type & kImplicit))) {
      if (type & kPresent)
        refuse(items.begins[i], bytes, "must be present on the device (map modifier present) and is not");
      continue;
    }
    const bool hold = type & kHold, is_last = entry->is_last(hold, type & kDelete);
    uint64_t &references = hold ? entry->held : entry->count;
    if ((type & kDelete) && references > 0) references = 1;
    if ((type & kFrom) && (is_last || (type & kAlways)) && bytes > 0) copy_out(*entry, items.begins[i], bytes);
    if (!counts) continue;
    if (references > 0) --references;
    if (!is_last) continue;
    come_after_users_of(*entry);
    unused_.push_back({entry->memory, entry->memory_bytes, entry->last});
    device_.present.erase(entry->begin);
  }
}

void RegionCall::update(const Items &items) {
  for (int32_t i = 0; i < items.count; ++i) {
    const int64_t type = items.types[i];
    const size_t bytes = static_cast<size_t>(items.sizes[i]);
    if ((type & (kLiteral | kPrivate)) || bytes == 0) continue;
    Entry *entry = device_.find(items.begins[i], bytes);
    if (!entry && (type & kPresent))
      refuse(items.begins[i], bytes, "must be present on the device (motion modifier present) and is not");
    if (!entry) continue;
    if (type & kTo) copy_in(*entry, items.begins[i], bytes);
    if (type & kFrom) copy_out(*entry, items.begins[i], bytes);
  }
}

/// Private copies of objects, all in one piece of memory that one transfer fills.
void RegionCall::add_private_copies(const Items &items, std::vector<void *> &places) {
  constexpr size_t kAlignment = 64;
  std::vector<char> content;
  for (int32_t i = 0; i < items.count; ++i) {
    if (!(items.types[i] & kPrivate) || (items.types[i] & kLiteral)) continue;
    const size_t at = content.size(), bytes = static_cast<size_t>(items.sizes[i]);
    content.resize(at + (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (items.types[i] & kTo) std::memcpy(&content[at], items.begins[i], bytes);
    // The members of a lambda follow: pointers to what is mapped.
    for (int32_t k = i + 1; k < items.count && parent_of(items.types[k]) == i; ++k) {
      Entry *entry = device_.find(items.begins[k], 0);
      if (!entry) continue;
      void *target = entry->device_of(static_cast<char *>(items.begins[k]));
      const ptrdiff_t offset = static_cast<char *>(items.bases[k]) - static_cast<char *>(items.begins[i]);
      std::memcpy(&content[at + static_cast<size_t>(offset)], &target, sizeof target);
      used_.push_back(entry);
    }
    places.push_back(reinterpret_cast<void *>(at));
  }
  if (content.empty()) return;
  char *memory = static_cast<char *>(device_.pool.take(content.size(), queue_));
  if (!memory) refuse(items.begins[0], content.size(), "no memory on the device for private copies");
  for (void *&place : places) place = memory + reinterpret_cast<size_t>(place);
  queue_.copy_in(memory, content.data(), content.size());
  queue_.wait_for_reads();
  unused_.push_back({memory, content.size(), {}});
  uses_unknown_ = true; // a copy may hold pointers
}

void RegionCall::add_arguments(const Items &items, std::vector<uint64_t> &slots) {
  std::vector<void *> copies;
  add_private_copies(items, copies);
  size_t next_copy = 0;
  for (int32_t i = 0; i < items.count; ++i) {
    const int64_t type = items.types[i];
    char *base = static_cast<char *>(items.bases[i]), *begin = static_cast<char *>(items.begins[i]);
    char *value = base;
    if (type & kLiteral) {
      if (items.sizes[i] == sizeof(void *) && device_.has_other_queues() && device_.owns(base)) uses_unknown_ = true;
    } else if (type & kPrivate) {
      value = static_cast<char *>(copies[next_copy++]) - (begin - base);
    } else if (type & kParameter) {
      if (type & kPointerAndObject) base = *reinterpret_cast<char **>(base);
      bool is_inside = false;
      Entry *entry = device_.find(begin, static_cast<size_t>(items.sizes[i]), is_inside);
      value = entry ? entry->device_of(begin) - (begin - base) : base; // what is not mapped may be a device pointer
      if (!entry || !entry->pointers.empty()) uses_unknown_ = true;
    }
    if (type & kParameter) slots.push_back(reinterpret_cast<uint64_t>(value));
  }
}

void RegionCall::launch(ol::Symbol kernel, const std::vector<uint64_t> &slots, const ol::LaunchSize &size,
                      bool has_variables) {
  uses_unknown_ |= has_variables;
  queue_.wait_for_reads();
  if (device_.has_other_queues()) {
    come_after(device_.unknown);
    for (Entry *entry : used_) come_after(entry->last);
    if (uses_unknown_) {
      std::lock_guard<std::mutex> guard(device_.queues_lock);
      for (auto &queue : device_.queues)
        if (queue.get() != &queue_) queue->wait();
    }
  }
  queue_.launch(where_, kernel, slots, size);
  for (Entry *entry : used_) entry->last = queue_.use();
  if (uses_unknown_) device_.unknown = queue_.use();
}

void RegionCall::finish(bool must_wait) {
  if (must_wait || copied_out_ || gives_pointers_)
    queue_.wait();
  else
    queue_.wait_for_reads();
  for (const AttachedPointer &pointer : overwritten_) std::memcpy(pointer.place, &pointer.host, sizeof(void *));
  for (Memory &it : unused_) {
    if (!it.last.queue) it.last = queue_.use(); // private copies
    device_.pool.give_back(it.memory, it.bytes, it.last);
  }
}

// ---- liboffload: an image -------------------------------------------------------------------------------

class LiboffloadImage : public LoadedImage {
public:
  /// Null when no device runs the image; `problems` says why.
  static std::unique_ptr<LoadedImage> load(Table &&table, const Image &image, std::vector<unsigned char> &bytes,
                                           Problems &problems);
  ~LiboffloadImage() override;

  int launch(Location &where, int64_t device, Geometry geometry, void *key,
             const __tgt_kernel_arguments &arguments) override;
  void data_begin(Location &where, int64_t device, const Items &items) override {
    call(where, device, items, &RegionCall::enter, false);
  }
  void data_end(Location &where, int64_t device, const Items &items) override {
    call(where, device, items, &RegionCall::leave, true);
  }
  void data_update(Location &where, int64_t device, const Items &items) override {
    call(where, device, items, &RegionCall::update, false);
  }

private:
  /// The image on one device; made when that is used first.
  struct Program {
    ol::Program handle = nullptr;
    std::unordered_map<const void *, ol::Symbol> kernels; // by host key; each when it is launched first
  };

  LiboffloadImage(Table &&table, Image::Kind kind, std::vector<unsigned char> &&bytes)
      : table_(std::move(table)), kind_(kind), bytes_(std::move(bytes)), programs_(environment().devices.size()) {
    for (const __tgt_offload_entry &entry : table_.entries) has_variables_ |= entry.size > 0;
  }
  /// Call both with the device's lock held.
  bool load_program(Device &device, Problems &problems);
  Program &program_on(Device &device, const Location &where);
  ol::Symbol kernel_on(Device &device, const void *key, const Location &where);
  void call(const Location &where, int64_t number, const Items &items, void (RegionCall::*what)(const Items &),
            bool must_wait);

  Table table_;
  Image::Kind kind_;
  std::vector<unsigned char> bytes_;
  std::vector<Program> programs_; // by number of the device
  bool has_variables_ = false;
};

/// Waits for what is in the queues; also when the process ends, since kernels may print.
void wait_for_all() {
  std::lock_guard<std::mutex> guard(environment().lock);
  for (auto &device : environment().devices) device->wait_for_queues();
}

std::unique_ptr<LoadedImage> LiboffloadImage::load(Table &&table, const Image &image,
                                                   std::vector<unsigned char> &bytes, Problems &problems) {
  if (table.requirements & (REX_REVERSE_OFFLOAD | REX_UNIFIED_SHARED_MEMORY)) {
    problems.add("the program requires unified shared memory or reverse offload, which rex has for libomptarget "
                 "only: set REX_RUNTIME=libomptarget");
    return nullptr;
  }
  if (!liboffload().open(problems) || !environment().start(problems)) return nullptr;
  std::unique_ptr<LiboffloadImage> it(new LiboffloadImage(std::move(table), image.kind(), std::move(bytes)));
  const auto &devices = environment().devices;
  if (devices.empty()) {
    problems.add("liboffload found no device: set REX_RUNTIME=libomptarget for the host device");
    return nullptr;
  }
  const size_t chosen = static_cast<size_t>(default_device());
  Device &first = *devices[chosen < devices.size() ? chosen : 0];
  {
    std::lock_guard<std::mutex> guard(first.lock);
    if (!it->load_program(first, problems)) return nullptr;
  }
  static const int waits = std::atexit(wait_for_all);
  (void)waits;
  if (verbose())
    say("registered " + std::to_string(it->table_.entries.size()) + " entries with liboffload, " +
        std::to_string(devices.size()) + " devices");
  return std::unique_ptr<LoadedImage>(std::move(it));
}

LiboffloadImage::~LiboffloadImage() {
  for (size_t number = 0; number < programs_.size(); ++number) {
    if (!programs_[number].handle) continue;
    Device &device = *environment().devices[number];
    device.wait_for_queues();
    std::lock_guard<std::mutex> guard(device.lock);
    for (const __tgt_offload_entry &entry : table_.entries)
      if (entry.size > 0) device.present.erase(static_cast<char *>(entry.addr));
    liboffload().olDestroyProgram(programs_[number].handle);
  }
  environment().stop();
}

/// Gives the image to a device, and maps the declare target variables for good.
bool LiboffloadImage::load_program(Device &device, Problems &problems) {
  const Liboffload &library = liboffload();
  bool is_valid = false;
  if (library.olIsValidBinary(device.handle, bytes_.data(), bytes_.size(), &is_valid) || !is_valid) {
    problems.add(kind_ == Image::Kind::host ? "liboffload runs no images for the host device: build for a GPU, or "
                                              "set REX_RUNTIME=libomptarget"
                                            : "liboffload cannot run the device image on this GPU");
    return false;
  }
  Program &program = programs_[static_cast<size_t>(device.number)];
  if (ol::Result failure = library.olCreateProgram(device.handle, bytes_.data(), bytes_.size(), &program.handle)) {
    problems.add(std::string("liboffload cannot load the device image: ") + failure->details);
    return false;
  }
  for (const __tgt_offload_entry &entry : table_.entries) {
    if (entry.size == 0) continue;
    ol::Symbol symbol = nullptr;
    void *address = nullptr;
    if (library.olGetSymbol(program.handle, entry.name, ol::kVariable, &symbol) ||
        library.olGetSymbolInfo(symbol, ol::kVariableAddress, sizeof address, &address)) {
      problems.add(std::string("the device image has no variable ") + entry.name);
      return false;
    }
    Entry variable;
    variable.begin = variable.base = static_cast<char *>(entry.addr);
    variable.end = variable.begin + entry.size;
    variable.device = static_cast<char *>(address);
    variable.is_permanent = true;
    device.present.emplace(variable.begin, variable);
  }
  return true;
}

LiboffloadImage::Program &LiboffloadImage::program_on(Device &device, const Location &where) {
  Program &program = programs_[static_cast<size_t>(device.number)];
  Problems problems;
  if (!program.handle && !load_program(device, problems)) device_failed(where.text(), problems.text());
  return program;
}

ol::Symbol LiboffloadImage::kernel_on(Device &device, const void *key, const Location &where) {
  Program &program = program_on(device, where);
  ol::Symbol &kernel = program.kernels[key];
  if (kernel) return kernel;
  const auto entry = std::find_if(table_.entries.begin(), table_.entries.end(),
                                  [key](const __tgt_offload_entry &it) { return it.addr == key && it.size == 0; });
  if (entry == table_.entries.end()) device_failed(where.text(), "launch of an unknown kernel");
  check(liboffload().olGetSymbol(program.handle, entry->name, ol::kKernel, &kernel), where.text(), entry->name);
  return kernel;
}

/// The arguments are one flat structure of 8-byte slots.
int LiboffloadImage::launch(Location &where, int64_t number, Geometry geometry, void *key,
                            const __tgt_kernel_arguments &arguments) {
  Device *device = environment().device(number, where);
  if (!device) {
    wait_for_all(); // the host does the work
    return -1;
  }
  const Items items = {static_cast<int32_t>(arguments.NumArgs),
                       arguments.ArgBasePtrs,
                       arguments.ArgPtrs,
                       arguments.ArgSizes,
                       arguments.ArgTypes,
                       arguments.ArgNames};
  const uint32_t teams = static_cast<uint32_t>(geometry.teams), threads = static_cast<uint32_t>(geometry.threads);
  std::vector<uint64_t> slots;
  slots.reserve(arguments.NumArgs + 4);
  if (REX_LLVM_ABI >= 18) slots.push_back(0); // the hidden parameter
  RegionCall call(*device, where);
  {
    std::lock_guard<std::mutex> guard(device->lock);
    const ol::Symbol kernel = kernel_on(*device, key, where);
    call.enter(items);
    call.add_arguments(items, slots);
    if (kind_ == Image::Kind::host) slots.insert(slots.end(), {teams, threads, arguments.DynCGroupMem});
    call.launch(kernel, slots, {1, {teams, 1, 1}, {threads, 1, 1}, arguments.DynCGroupMem}, has_variables_);
    call.leave(items);
  }
  call.finish(false);
  return 0;
}

void LiboffloadImage::call(const Location &where, int64_t number, const Items &items,
                           void (RegionCall::*what)(const Items &), bool must_wait) {
  Device *device = environment().device(number, where);
  if (!device) return;
  RegionCall call(*device, where);
  {
    std::lock_guard<std::mutex> guard(device->lock);
    program_on(*device, where);
    (call.*what)(items);
  }
  call.finish(must_wait);
}

// ---- Registration ---------------------------------------------------------------------------------------

/// The runtime that carries the calls: REX_RUNTIME, from the environment or the compiler.
enum class Carrier { libomptarget, liboffload, unknown };

Carrier carrier() {
  static const Carrier chosen = [] {
    const char *value = std::getenv("REX_RUNTIME");
    const std::string name = value && *value ? value : REX_RUNTIME;
    return name == "libomptarget" ? Carrier::libomptarget
           : name == "liboffload" ? Carrier::liboffload
                                  : Carrier::unknown;
  }();
  return chosen;
}

/// One registered image.
class Registration {
public:
  /// Null when something is wrong; `problems` says what.
  static Registration *create(Problems &problems);
  /// Stands for OMP_TARGET_OFFLOAD=disabled: every call leaves the work to the host.
  static Registration *disabled() { return new Registration; }
  ~Registration() {
    loaded_.reset();
    if (own_handle_) dlclose(own_handle_);
  }

  /// Null when offload is disabled.
  LoadedImage *loaded() const { return loaded_.get(); }
  /// Whether the table has every instantiation of a template that is known by now.
  bool is_complete() const {
    return !loaded_ || (last_instance_ == first_instance && last_member_ == first_member);
  }
  Image::Kind kind() const { return image_.kind(); }
  /// The dynamic shared memory that a launch gets when it asks for so many bytes: all or none. Without it a kernel
  /// takes memory from the heap.
  uint32_t dynamic_shared_bytes(const void *key, uint32_t asked) const;
  /// Constructs the variables of a device that is used for the first time.
  void construct(Location &where, int64_t device);

private:
  Registration() = default;
  Table make_table(Problems &problems);
  bool is_built_for_this_abi(const Table &table) const;

  Image image_;
  std::unique_ptr<LoadedImage> loaded_;
  void *own_handle_ = nullptr;
  const rex_instance_entry *last_instance_ = nullptr;
  const rex_member_entry *last_member_ = nullptr;
  std::vector<void *> constructors_; // keys of kernels, one for each file that has such variables
  std::vector<int64_t> constructed_; // the devices whose variables are
  std::recursive_mutex constructing_;
};

/// Copies the entries, so that they outlive a library that is closed, and points each at its symbol.
/// On the host device a kernel is entered through <kernel>__host_entry (rex_nvidia.h).
Table Registration::make_table(Problems &problems) {
  const std::string kernel_suffix = kind() == Image::Kind::host ? "__host_entry" : "";
  Table table;
  size_t instances_count = 0;
  for (const rex_instance_entry *instance = first_instance; instance; instance = instance->next) ++instances_count;
  for (const rex_member_entry *member = first_member; member; member = member->next) ++instances_count;
  table.entries.reserve(HostEntries().size() + instances_count + 2); // an address of its own, also when empty
  std::string missing;
  const auto add = [&](__tgt_offload_entry entry, const std::string &symbol) {
    table.names.push_back(symbol);
    entry.name = &table.names.back()[0];
    if (!image_.symbol(symbol)) missing += (missing.empty() ? "" : ", ") + symbol;
    table.entries.push_back(entry);
  };
  for (const __tgt_offload_entry &entry : HostEntries())
    if (entry.flags & REX_REQUIRES_FLAG) {
      table.requirements |= static_cast<int32_t>(entry.data);
    } else {
      __tgt_offload_entry plain = entry;
      if (entry.flags & REX_CONSTRUCTORS_FLAG) constructors_.push_back(entry.addr);
      plain.flags &= ~REX_CONSTRUCTORS_FLAG; // no runtime knows it
      add(plain, entry.name + (entry.size == 0 ? kernel_suffix : ""));
    }
  last_instance_ = first_instance;
  for (rex_instance_entry *instance = first_instance; instance; instance = instance->next)
    add(REX_ENTRY(instance, "", 0, 0), image_.own_symbol(symbol_of(*instance, kind() == Image::Kind::host)));
  last_member_ = first_member;
  for (const rex_member_entry *member = first_member; member; member = member->next) {
    const std::string symbol = image_.own_symbol(symbol_of(*member));
    if (!image_.symbol(symbol)) continue;
#if REX_LLVM_ABI <= 15
    if (kind() == Image::Kind::host) {
      problems.add(std::string("the static data member `") + member->member +
                   "` of a class template cannot be updated on the host device of LLVM 15: use LLVM 16 or later");
      continue; // the image has no table with instantiations
    }
#endif
    add(REX_ENTRY(member->address, "", member->bytes, 0), symbol);
  }
  if (!missing.empty())
    problems.add("the device image lacks " + missing + ": build host files and image from the same lowering");
  else if (!is_built_for_this_abi(table))
    problems.add("the device image is built for another LLVM: compile it with -DREX_LLVM_ABI=" +
                 std::to_string(REX_LLVM_ABI) + ", as the program is");
#if REX_LLVM_ABI <= 15
  // The host plugin of these versions pairs the two tables by position: follow the image's.
  if (kind() == Image::Kind::host)
    std::sort(table.entries.begin(), table.entries.end(),
              [this](const __tgt_offload_entry &a, const __tgt_offload_entry &b) {
                const uint64_t *at_a = image_.symbol(std::string(a.name) + "__image_entry");
                const uint64_t *at_b = image_.symbol(std::string(b.name) + "__image_entry");
                return at_a && at_b && *at_a < *at_b;
              });
#endif
  return table;
}

/// Whether kernels take the hidden parameter exactly when this runtime passes it.
bool Registration::is_built_for_this_abi(const Table &table) const {
  if (kind() == Image::Kind::host)
    return image_.symbol("rex_image_for_LLVM_ABI_" + std::to_string(REX_LLVM_ABI));
  for (const __tgt_offload_entry &entry : table.entries) // instantiations of templates have no such symbol
    if (entry.size == 0 && std::strncmp(entry.name, "_Z", 2) != 0)
      return image_.symbol(std::string(entry.name) +
                           (REX_LLVM_ABI >= 18 ? "_kernel_environment" : "_exec_mode"));
  return true;
}

Registration *Registration::create(Problems &problems) {
  std::unique_ptr<Registration> it(new Registration);
  const bool is_liboffload = carrier() == Carrier::liboffload;
  const int llvm = is_liboffload ? 22 : loaded_llvm();
  if (carrier() == Carrier::unknown)
    problems.add("REX_RUNTIME names no runtime: there are libomptarget and liboffload");
  else if (!is_liboffload)
    check_runtime(llvm, problems);
  Problems image_problems;
  std::vector<unsigned char> bytes;
  Table table;
  it->image_ = find_image(bytes, image_problems);
  if (image_problems.none()) {
    table = it->make_table(image_problems);
    if (it->image_.cubin_version() >= 8 && llvm < 22)
      image_problems.add("the cubin is written by CUDA 13, which LLVM " + std::to_string(llvm) +
                         " cannot load: use ptxas of CUDA 12, or LLVM 22");
    if (it->kind() == Image::Kind::nvidia) check_gpu(it->image_, llvm, image_problems);
  }
  problems.add(image_problems);
  if (!problems.none()) return nullptr;

  // A library stays loaded while it is registered: another one at its address would have its host keys.
  if (!own_library().empty()) it->own_handle_ = dlopen(own_library().c_str(), RTLD_NOW | RTLD_NOLOAD);
  const auto load = is_liboffload ? LiboffloadImage::load : OmptargetImage::load;
  it->loaded_ = load(std::move(table), it->image_, bytes, problems);
  return it->loaded_ ? it.release() : nullptr;
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
    const EnvironmentHold mapped_data(carrier() == Carrier::liboffload);
    delete already;
    return register_image(life, call);
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

/// Whether rex_offload_fini has ended it all.
bool is_finished() {
  Lifecycle &life = lifecycle();
  std::lock_guard<std::mutex> guard(life.lock);
  return life.finished;
}

/// Registers the image unless it is. Null: it cannot.
Registration *registered_or_null(const Location &where) {
  Registration *registered = current.load(std::memory_order_acquire);
  if (registered && registered->is_complete()) return registered;
  Lifecycle &life = lifecycle();
  std::lock_guard<std::mutex> guard(life.lock);
  return register_image(life, &where);
}

/// The registration a call uses. Null: the call must leave the work to the host.
Registration *registration_for(const Location &where) {
  Registration *registered = registered_or_null(where);
  if (!registered && offload_policy_is("mandatory")) give_up(where);
  return registered && registered->loaded() ? registered : nullptr;
}

} // namespace

void rex_instance_entry::add(const char *kernel_name, const char *type_name, const char *renamed,
                             int parameters_count, const char *pack_type) {
  if (kernel) return;
  kernel = kernel_name;
  type = type_name;
  renamed_types = renamed;
  parameters = parameters_count;
  pack = pack_type;
  next = first_instance;
  first_instance = this;
}

void *rex_member_entry::add(const char *member_name, const char *type_name, const char *renamed,
                            void *object_address, size_t object_bytes) {
  if (!member) {
    member = member_name;
    type = type_name;
    renamed_types = renamed;
    address = object_address;
    bytes = object_bytes;
    next = first_member;
    first_member = this;
  }
  return this;
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
  if (ended->loaded() && ended->loaded()->must_stay())
    life.parked = ended;
  else
    delete ended;
}

__attribute__((visibility("protected"))) const char *rex_offload_error() {
  Lifecycle &life = lifecycle();
  std::lock_guard<std::mutex> guard(life.lock);
  return life.problem.empty() ? nullptr : life.problem.c_str();
}

// ---- OpenMP's device routines ---------------------------------------------------------------------------
//
// The program's own calls of these come here. With libomptarget they go on to it; with liboffload they work
// with the environment above.

namespace {

/// The environment that the routines work with. Null: libomptarget's.
Environment *own_environment() {
  static Environment *const nothing = new Environment; // no image, no device
  const Registration *registered = is_finished() ? nullptr : registered_or_null(Location("an OpenMP routine", "", 0));
  if (carrier() != Carrier::liboffload) return hold_libomptarget(), nullptr;
  return registered && registered->loaded() ? &environment() : nothing;
}

/// libomptarget's function of a name, or what other OpenMP runtime has one.
template <typename Function> Function *their_function(const char *name) {
  auto *found = runtime_function<Function>(name);
  return found ? found : reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}
/// In a routine: leaves the call to libomptarget, unless liboffload carries this program.
#define REX_ROUTINE(name, otherwise, ...)                                                                    \
  Environment *const own = own_environment();                                                                \
  if (!own) {                                                                                                \
    static auto *const theirs = their_function<decltype(name)>(#name);                                       \
    return theirs ? theirs(__VA_ARGS__) : otherwise;                                                         \
  }

/// The device of a number; null for the host and for numbers without a device.
Device *numbered(const Environment &environment, int number) {
  const bool is_device = number >= 0 && static_cast<size_t>(number) < environment.devices.size();
  return is_device ? environment.devices[static_cast<size_t>(number)].get() : nullptr;
}

/// Whether a number stands for the host.
bool is_host(const Environment &environment, int number) {
  return number == static_cast<int>(environment.devices.size()) || number == REX_DEVICE_INITIAL;
}

/// One side of a copy: memory of a device, or (null) of the host.
struct Side {
  char *memory;
  Device *device;
};

void copy(const Side &to, const Side &from, size_t bytes) {
  if (bytes == 0) return;
  if (to.device && from.device)
    from.device->queue().copy_between(to.memory, to.device->handle, from.memory, bytes);
  else if (to.device)
    to.device->queue().copy_in(to.memory, from.memory, bytes);
  else if (from.device)
    from.device->queue().copy_out(to.memory, from.memory, bytes);
  else
    std::memmove(to.memory, from.memory, bytes);
}

/// Copies a box: extents, where it lies on each side, and the extents of the two arrays that it is part of.
struct Box {
  size_t element_bytes;
  const size_t *extents, *to_offsets, *from_offsets, *to_extents, *from_extents;

  void copy_rows(const Side &to, const Side &from, int dimensions) const { copy_rows(to, from, 0, dimensions); }

private:
  void copy_rows(Side to, Side from, int dimension, int dimensions) const {
    size_t to_row = element_bytes, from_row = element_bytes; // bytes from one index to the next
    for (int k = dimension + 1; k < dimensions; ++k) to_row *= to_extents[k], from_row *= from_extents[k];
    to.memory += to_offsets[dimension] * to_row;
    from.memory += from_offsets[dimension] * from_row;
    if (dimension + 1 == dimensions) return copy(to, from, extents[dimension] * element_bytes);
    for (size_t i = 0; i < extents[dimension]; ++i, to.memory += to_row, from.memory += from_row)
      copy_rows(to, from, dimension + 1, dimensions);
  }
};

/// Runs `work` after all that was launched, and waits for it. False when a number has no device.
template <typename Work>
bool copy_between(const Environment &own, void *to, int to_number, const void *from, int from_number, Work work) {
  const Side target = {static_cast<char *>(to), numbered(own, to_number)};
  const Side source = {static_cast<char *>(const_cast<void *>(from)), numbered(own, from_number)};
  if ((!target.device && !is_host(own, to_number)) || (!source.device && !is_host(own, from_number))) return false;
  for (Device *device : {target.device, source.device})
    if (device) device->wait_for_queues();
  work(target, source);
  for (Device *device : {target.device, source.device})
    if (device) device->queue().wait();
  return true;
}

int initial_device() {
  if (const Environment *own = own_environment()) return static_cast<int>(own->devices.size());
  static auto *const theirs = their_function<int()>("omp_get_initial_device");
  return theirs ? theirs() : 0;
}

/// Waits for the tasks that an asynchronous routine depends on, and for their siblings.
void wait_for_tasks(int dependences_count) {
  if (dependences_count == 0) return;
  auto *thread = reinterpret_cast<int32_t (*)(Ident *)>(dlsym(RTLD_DEFAULT, "__kmpc_global_thread_num"));
  auto *wait = reinterpret_cast<int32_t (*)(Ident *, int32_t)>(dlsym(RTLD_DEFAULT, "__kmpc_omp_taskwait"));
  if (thread && wait) wait(nullptr, thread(nullptr));
}

} // namespace

/// Weak: a program may have definitions of its own, for builds without OpenMP.
#define REX_REPLACES __attribute__((weak, visibility("hidden")))

extern "C" {

REX_REPLACES int omp_get_num_devices() {
  REX_ROUTINE(omp_get_num_devices, 0)
  return static_cast<int>(own->devices.size());
}

REX_REPLACES int omp_get_initial_device() { return initial_device(); }

REX_REPLACES int omp_get_device_num() {
  REX_ROUTINE(omp_get_device_num, 0)
  return static_cast<int>(own->devices.size());
}

REX_REPLACES void *omp_target_alloc(size_t bytes, int number) {
  REX_ROUTINE(omp_target_alloc, nullptr, bytes, number)
  if (bytes == 0) return nullptr;
  Device *device = numbered(*own, number);
  if (!device) return is_host(*own, number) ? std::malloc(bytes) : nullptr;
  void *memory = nullptr;
  if (liboffload().olMemAlloc(device->handle, ol::kDeviceMemory, bytes, &memory)) return nullptr;
  std::lock_guard<std::mutex> guard(device->lock);
  device->foreign.emplace(static_cast<char *>(memory), bytes);
  return memory;
}

REX_REPLACES void omp_target_free(void *memory, int number) {
  REX_ROUTINE(omp_target_free, void(), memory, number)
  Device *device = numbered(*own, number);
  if (!device) return std::free(is_host(*own, number) ? memory : nullptr);
  device->wait_for_queues();
  std::lock_guard<std::mutex> guard(device->lock);
  if (device->foreign.erase(static_cast<char *>(memory))) liboffload().olMemFree(memory);
}

REX_REPLACES void *omp_get_mapped_ptr(const void *pointer, int number) {
  REX_ROUTINE(omp_get_mapped_ptr, nullptr, pointer, number)
  Device *device = numbered(*own, number);
  if (!device) return is_host(*own, number) ? const_cast<void *>(pointer) : nullptr;
  device->wait_for_queues(); // others may work with it
  std::lock_guard<std::mutex> guard(device->lock);
  const Entry *entry = device->find(pointer, 1);
  return entry ? entry->device_of(pointer) : nullptr;
}

REX_REPLACES int omp_target_is_present(const void *pointer, int number) {
  REX_ROUTINE(omp_target_is_present, 0, pointer, number)
  Device *device = numbered(*own, number);
  if (!pointer || !device) return pointer && is_host(*own, number);
  std::lock_guard<std::mutex> guard(device->lock);
  return device->find(pointer, 1) != nullptr;
}

REX_REPLACES int omp_target_is_accessible(const void *pointer, size_t bytes, int number) {
  REX_ROUTINE(omp_target_is_accessible, 0, pointer, bytes, number)
  Device *device = numbered(*own, number);
  if (!pointer || !device) return pointer && is_host(*own, number);
  std::lock_guard<std::mutex> guard(device->lock);
  return device->owns(pointer);
}

REX_REPLACES int omp_target_memcpy(void *to, const void *from, size_t bytes, size_t to_offset, size_t from_offset,
                                 int to_number, int from_number) {
  REX_ROUTINE(omp_target_memcpy, EINVAL, to, from, bytes, to_offset, from_offset, to_number, from_number)
  const auto work = [=](Side target, Side source) {
    copy({target.memory + to_offset, target.device}, {source.memory + from_offset, source.device}, bytes);
  };
  return to && from && copy_between(*own, to, to_number, from, from_number, work) ? 0 : EINVAL;
}

REX_REPLACES int omp_target_memcpy_rect(void *to, const void *from, size_t element_bytes, int dimensions,
                                      const size_t *extents, const size_t *to_offsets,
                                      const size_t *from_offsets, const size_t *to_extents,
                                      const size_t *from_extents, int to_number, int from_number) {
  REX_ROUTINE(omp_target_memcpy_rect, EINVAL, to, from, element_bytes, dimensions, extents, to_offsets,
              from_offsets, to_extents, from_extents, to_number, from_number)
  if (!to && !from) return INT_MAX; // as many dimensions as there are
  const Box box = {element_bytes, extents, to_offsets, from_offsets, to_extents, from_extents};
  const auto work = [&](Side target, Side source) { box.copy_rows(target, source, dimensions); };
  const bool is_valid = to && from && dimensions > 0 && element_bytes > 0;
  return is_valid && copy_between(*own, to, to_number, from, from_number, work) ? 0 : EINVAL;
}

REX_REPLACES void *omp_target_memset(void *memory, int value, size_t bytes, int number) {
  REX_ROUTINE(omp_target_memset, nullptr, memory, value, bytes, number)
  Device *device = numbered(*own, number);
  if (!device) return is_host(*own, number) ? std::memset(memory, value, bytes) : memory;
  if (!memory || bytes == 0) return memory;
  device->wait_for_queues();
  device->queue().fill(memory, static_cast<unsigned char>(value), bytes);
  device->queue().wait();
  return memory;
}

REX_REPLACES int omp_target_memcpy_async(void *to, const void *from, size_t bytes, size_t to_offset,
                                       size_t from_offset, int to_number, int from_number, int count,
                                       void *dependences) {
  REX_ROUTINE(omp_target_memcpy_async, EINVAL, to, from, bytes, to_offset, from_offset, to_number, from_number,
              count, dependences)
  wait_for_tasks(count);
  return omp_target_memcpy(to, from, bytes, to_offset, from_offset, to_number, from_number);
}

REX_REPLACES int omp_target_memcpy_rect_async(void *to, const void *from, size_t element_bytes, int dimensions,
                                            const size_t *extents, const size_t *to_offsets,
                                            const size_t *from_offsets, const size_t *to_extents,
                                            const size_t *from_extents, int to_number, int from_number, int count,
                                            void *dependences) {
  REX_ROUTINE(omp_target_memcpy_rect_async, EINVAL, to, from, element_bytes, dimensions, extents, to_offsets,
              from_offsets, to_extents, from_extents, to_number, from_number, count, dependences)
  wait_for_tasks(count);
  return omp_target_memcpy_rect(to, from, element_bytes, dimensions, extents, to_offsets, from_offsets,
                                to_extents, from_extents, to_number, from_number);
}

REX_REPLACES void *omp_target_memset_async(void *memory, int value, size_t bytes, int number, int count,
                                         void *dependences) {
  REX_ROUTINE(omp_target_memset_async, nullptr, memory, value, bytes, number, count, dependences)
  wait_for_tasks(count);
  return omp_target_memset(memory, value, bytes, number);
}

REX_REPLACES int omp_target_associate_ptr(const void *host, const void *memory, size_t bytes, size_t offset,
                                        int number) {
  REX_ROUTINE(omp_target_associate_ptr, EINVAL, host, memory, bytes, offset, number)
  Device *device = numbered(*own, number);
  if (!device || !host || !memory || bytes == 0) return EINVAL;
  char *counterpart = static_cast<char *>(const_cast<void *>(memory)) + offset;
  std::lock_guard<std::mutex> guard(device->lock);
  bool is_inside = false;
  if (const Entry *known = device->find(host, bytes, is_inside))
    return is_inside && known->is_permanent && known->device_of(host) == counterpart ? 0 : EINVAL;
  Entry entry;
  entry.begin = entry.base = static_cast<char *>(const_cast<void *>(host));
  entry.end = entry.begin + bytes;
  entry.device = counterpart;
  entry.is_permanent = true;
  device->present.emplace(entry.begin, entry);
  return 0;
}

REX_REPLACES int omp_target_disassociate_ptr(const void *host, int number) {
  REX_ROUTINE(omp_target_disassociate_ptr, EINVAL, host, number)
  Device *device = numbered(*own, number);
  if (!device) return EINVAL;
  device->wait_for_queues();
  std::lock_guard<std::mutex> guard(device->lock);
  const Entry *entry = device->find(host, 1);
  if (!entry || !entry->is_permanent || entry->begin != host) return EINVAL;
  device->present.erase(entry->begin);
  return 0;
}

// What gcc makes of the error directive at run time (error.c of its OpenMP runtime), which LLVM's runtime lacks.

static void rex_error_directive(const char *kind, const char *message, size_t length) {
  fflush(stdout);
  if (message == nullptr)
    fprintf(stderr, "rex: %serror directive encountered\n", kind);
  else if (length == static_cast<size_t>(-1))
    fprintf(stderr, "rex: %serror directive encountered: %s\n", kind, message);
  else
    fprintf(stderr, "rex: %serror directive encountered: %.*s\n", kind, static_cast<int>(length), message);
}

__attribute__((weak)) void GOMP_warning(const char *message, size_t length) {
  rex_error_directive("warning: ", message, length);
}

__attribute__((weak, noreturn)) void GOMP_error(const char *message, size_t length) {
  rex_error_directive("", message, length);
  exit(EXIT_FAILURE);
}

} // extern "C"

// ---- Calls of lowered files -----------------------------------------------------------------------------

namespace {

/// The runtime's number of a device: -1 is the default device, and the initial device comes behind all others.
/// Ends the program for a number that OpenMP calls invalid.
int64_t runtime_device(const Location &where, int64_t device) {
  if (device >= 0) return device;
  if (device == REX_DEVICE_DEFAULT) return kDefaultDevice;
  if (device == REX_DEVICE_INITIAL) return initial_device();
  say(where.text() + ": device(" + std::to_string(device) +
      ") is no device: numbers begin at 0, and omp_initial_device is " + std::to_string(REX_DEVICE_INITIAL));
  std::exit(EXIT_FAILURE);
}

const char *kernel_name(const void *key) {
  for (const __tgt_offload_entry &entry : HostEntries())
    if (entry.addr == key) return entry.name;
  return "of an unknown key";
}

/// What rex_shared_bytes says of an array that fits nowhere.
constexpr uint32_t kTooManySharedBytes = 1 << 20;

/// The shared memory that a block may have. What is beyond 48 KiB must be asked for, which LLVM 22 does (CUDA C++
/// Programming Guide, table of technical specifications by compute capability).
uint64_t largest_shared_bytes(unsigned capability) {
  const uint64_t kibibyte = 1024;
  if (REX_LLVM_ABI < 22 || capability < 70) return 48 * kibibyte;
  switch (capability) {
  case 70: case 72: return 96 * kibibyte;
  case 75: return 64 * kibibyte;
  case 80: case 87: return 163 * kibibyte;
  case 90: case 100: case 103: case 110: return 227 * kibibyte;
  default: return 99 * kibibyte;
  }
}

uint32_t Registration::dynamic_shared_bytes(const void *key, uint32_t asked) const {
  if (asked == 0 || asked >= kTooManySharedBytes) return 0;
  if (kind() == Image::Kind::host) return asked;
  const uint64_t all = image_.shared_bytes(kernel_name(key)) + asked;
  return all <= largest_shared_bytes(image_.capability()) ? asked : 0;
}

} // namespace

void Registration::construct(Location &where, int64_t device) {
  if (constructors_.empty()) return;
  if (device == kDefaultDevice) device = default_device();
  std::lock_guard<std::recursive_mutex> guard(constructing_);
  if (std::find(constructed_.begin(), constructed_.end(), device) != constructed_.end()) return;
  constructed_.push_back(device);
  const __tgt_kernel_arguments nothing = REX_KERNEL_ARGUMENTS(0, NULL, NULL, NULL, NULL, NULL, 0);
  for (void *key : constructors_) {
    if (verbose()) say(where.text() + ": constructs variables of device " + std::to_string(device));
    loaded_->launch(where, device, {1, 1}, key, nothing);
  }
}

namespace {

/// Prints the items of a data call: what happens to each, as far as the map type says.
void say_items(const Location &where, const char *call, const Items &items) {
  for (int32_t i = 0; i < items.count; ++i) {
    char item[160];
    const int64_t type = items.types[i];
    const char *name = items.names ? static_cast<const char *>(items.names[i]) : nullptr; // ";item;file;line;0;;"
    if (name && *name == ';')
      std::snprintf(item, sizeof item, "%.*s", static_cast<int>(std::strcspn(name + 1, ";")), name + 1);
    else
      std::snprintf(item, sizeof item, "%p", items.begins[i]);
    const char *kind = type & kDelete                       ? "delete"
                       : (type & (kTo | kFrom)) == (kTo | kFrom) ? "tofrom"
                       : type & kTo                         ? "to"
                       : type & kFrom                       ? "from"
                                                            : "alloc";
    say(where.text() + ": " + call + " " + kind + " " + item + ", " + std::to_string(items.sizes[i]) + " bytes");
  }
}

/// The image whose runtime carries out a data call. Null: nothing is to be done.
LoadedImage *image_for(const char *call, Location &where, int64_t device, const Items &items) {
  Registration *registered = registration_for(where);
  if (registered) registered->construct(where, device);
  if (registered && verbose()) say_items(where, call, items);
  return registered ? registered->loaded() : nullptr;
}

} // namespace

int rex___tgt_target_kernel(const char *file, const char *function, int line, int64_t device, int32_t teams,
                            int32_t threads, void *key, const __tgt_kernel_arguments *arguments) {
  Location where(file, function, line);
  const int64_t number = runtime_device(where, device);
  Registration *registered = registration_for(where);
  if (!registered) return -1;
  registered->construct(where, number);

  const Geometry geometry = choose_geometry({teams, threads}, arguments->Tripcount, registered->kind());
  __tgt_kernel_arguments packet = *arguments;
  packet.DynCGroupMem = registered->dynamic_shared_bytes(key, arguments->DynCGroupMem);
  if (verbose())
    say(where.text() + ": launch " + kernel_name(key) + ", " + std::to_string(geometry.teams) + " teams of " +
        std::to_string(geometry.threads) + " threads, " + std::to_string(arguments->NumArgs) + " arguments");
  return registered->loaded()->launch(where, number, geometry, key, packet);
}

void rex___tgt_target_data_begin(const char *file, const char *function, int line, int64_t device,
                                 int32_t count, void **bases, void **begins, int64_t *sizes, int64_t *types,
                                 void **names) {
  Location where(file, function, line);
  const int64_t number = runtime_device(where, device);
  const Items items = {count, bases, begins, sizes, types, names};
  if (LoadedImage *image = image_for("data begin", where, number, items)) image->data_begin(where, number, items);
}

void rex___tgt_target_data_end(const char *file, const char *function, int line, int64_t device,
                               int32_t count, void **bases, void **begins, int64_t *sizes, int64_t *types,
                               void **names) {
  Location where(file, function, line);
  const int64_t number = runtime_device(where, device);
  const Items items = {count, bases, begins, sizes, types, names};
  if (LoadedImage *image = image_for("data end", where, number, items)) image->data_end(where, number, items);
}

void rex___tgt_target_data_update(const char *file, const char *function, int line, int64_t device,
                                  int32_t count, void **bases, void **begins, int64_t *sizes, int64_t *types,
                                  void **names) {
  Location where(file, function, line);
  const int64_t number = runtime_device(where, device);
  const Items items = {count, bases, begins, sizes, types, names};
  if (LoadedImage *image = image_for("data update", where, number, items)) image->data_update(where, number, items);
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
  if (maps->rex_count == maps->rex_capacity) {
    maps->rex_capacity = maps->rex_capacity ? 2 * maps->rex_capacity : 16;
    grow(maps->rex_bases, maps->rex_capacity);
    grow(maps->rex_begins, maps->rex_capacity);
    grow(maps->rex_sizes, maps->rex_capacity);
    grow(maps->rex_types, maps->rex_capacity);
    grow(maps->rex_names, maps->rex_capacity);
  }
  const int32_t at = maps->rex_count++;
  maps->rex_bases[at] = base;
  maps->rex_begins[at] = begin;
  maps->rex_sizes[at] = bytes;
  maps->rex_types[at] = type;
  maps->rex_names[at] = name;
  // A member names its parent in 16 bits; 0 is no parent.
  constexpr int32_t kParents = 0xffff;
  if (type == kTooFar) {
    say("more than " + std::to_string(kParents) + " structures behind pointers in one construct: map them in several");
    std::abort();
  }
  return at < kParents ? (at + INT64_C(1)) << 48 : kTooFar;
}

void rex_maps_free(struct rex_maps *maps) {
  std::free(maps->rex_bases);
  std::free(maps->rex_begins);
  std::free(maps->rex_sizes);
  std::free(maps->rex_types);
  std::free(maps->rex_names);
  maps->rex_count = maps->rex_capacity = 0;
}
