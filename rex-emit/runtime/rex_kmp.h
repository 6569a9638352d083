/* rex_kmp.h: what a lowered host file needs to talk to LLVM's offload runtime (libomptarget).
 *
 * The lowered file names one table entry per kernel and calls __tgt_target_kernel and
 * __tgt_target_data_*. The shapes of these calls never change. How they reach the runtime of LLVM 14 to 22
 * is decided here and in register_cubin.cpp, by REX_LLVM_ABI alone.
 *
 * C99 or C++98 and later. Nothing but <stddef.h>, <stdint.h> and <typeinfo> is included, because other headers would
 * declare names (index, remove, y0, ...) that the user's program may use for itself. */
#ifndef REX_KMP_H
#define REX_KMP_H

#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#include <typeinfo>
#endif

/* The LLVM version whose libomptarget the program is linked with. */
#ifndef REX_LLVM_ABI
#define REX_LLVM_ABI 19
#endif
#if REX_LLVM_ABI < 14 || REX_LLVM_ABI > 22
#error "rex_kmp.h knows the offload runtimes of LLVM 14 to 22: set REX_LLVM_ABI to one of them"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- For programs ------------------------------------------------------------------------------------- */

/* Registers this program's (or shared library's) device image. A lowered main calls it first. Calls are
 * counted: n calls need n calls of rex_offload_fini. A failed call says why on stderr; the next one tries
 * again. */
void rex_offload_init(void);

/* Undoes one rex_offload_init; the last one removes the image from the runtime and frees it. Never called
 * automatically: a process that ends needs no teardown. A lowered library stays loaded until its own count is
 * zero: call it before dlclose. */
void rex_offload_fini(void);

/* Why the last registration failed, or NULL when it did not. Valid until the next init or fini. */
const char *rex_offload_error(void);

/* ---- Table entries: host key or variable -> symbol in the device image -------------------------------- */

#if REX_LLVM_ABI >= 20
struct __tgt_offload_entry {
  uint64_t reserved; /* 0 tells the runtime that this is not the older layout */
  uint16_t version;  /* 1 */
  uint16_t kind;     /* 1: OpenMP; anything else crashes LLVM 22 */
  uint32_t flags;
  void *addr;    /* host key of a kernel, or address of a variable */
  char *name;    /* symbol in the device image */
  uint64_t size; /* 0: kernel, otherwise bytes of the variable */
  uint64_t data;
  void *aux;
};
#define REX_ENTRY(address, symbol, bytes, entry_flags)                                                       \
  {0, 1, 1, (entry_flags), (void *)(address), (char *)(symbol), (bytes), 0, NULL}
#else
struct __tgt_offload_entry {
  void *addr;
  char *name;
  size_t size;
  int32_t flags;
  int32_t data;
};
#define REX_ENTRY(address, symbol, bytes, entry_flags)                                                       \
  {(void *)(address), (char *)(symbol), (bytes), (entry_flags), 0}
#endif

#define REX_KERNEL_ENTRY(key, symbol) REX_ENTRY(&(key), symbol, 0, 0)
/* A kernel that constructs variables. register_cubin.cpp launches it before anything else on each device. */
#define REX_CONSTRUCTORS_ENTRY(key, symbol) REX_ENTRY(&(key), symbol, 0, REX_CONSTRUCTORS_FLAG)
#define REX_CONSTRUCTORS_FLAG 0x40000000
/* flags: 0, or REX_LINK for the pointer to a variable of `declare target link`. */
#define REX_GLOBAL_ENTRY(address, symbol, bytes, flags) REX_ENTRY(address, symbol, bytes, flags)
#define REX_LINK 1

/* What a file demands of every device. register_cubin.cpp tells the runtime: in the table (LLVM 19 and later)
 * or by a call. */
#define REX_REQUIRES_FLAG 0x10
#define REX_REVERSE_OFFLOAD 2
#define REX_UNIFIED_ADDRESS 4
#define REX_UNIFIED_SHARED_MEMORY 8
#define REX_DYNAMIC_ALLOCATORS 16
#if REX_LLVM_ABI >= 20
#define REX_REQUIRES_ENTRY(requirements)                                                                     \
  {0, 1, 1, REX_REQUIRES_FLAG, NULL, (char *)".requires", 0, (uint64_t)(requirements), NULL}
#else
#define REX_REQUIRES_ENTRY(requirements) {NULL, (char *)"", 0, REX_REQUIRES_FLAG, (requirements)}
#endif

/* Entries of all files meet in one section. Without aligned(8) gcc leaves holes between them; without
 * retain a linker that collects garbage drops them. They are never const: a section cannot hold both. */
#if defined(__has_attribute)
#if __has_attribute(retain)
#define REX_RETAIN , __retain__
#endif
#endif
#ifndef REX_RETAIN
#define REX_RETAIN
#endif
#define REX_OFFLOAD_ENTRY __attribute__((__section__("omp_offloading_entries"), __used__, __aligned__(8) REX_RETAIN))

/* Files that were compiled for different versions must not meet: a file that does not agree with
 * register_cubin.cpp has an undefined reference to this. */
#define REX_HIDDEN __attribute__((__visibility__("hidden")))
#define REX_ABI_SYMBOL REX_PASTE(rex_compiled_for_LLVM_ABI_, REX_LLVM_ABI)
#define REX_PASTE(left, right) REX_PASTE_OF(left, right)
#define REX_PASTE_OF(left, right) left##right
extern REX_HIDDEN const char REX_ABI_SYMBOL;
static const char *const rex_abi_symbol __attribute__((used)) = &REX_ABI_SYMBOL;

/* ---- Launches ----------------------------------------------------------------------------------------- */

/* What a launch tells the runtime; LLVM 15 reads the first 64 bytes only. */
struct __tgt_kernel_arguments {
  uint32_t StructVersion; /* set by the launch; LLVM calls it Version, which programs define as a macro */
  uint32_t NumArgs;
  void **ArgBasePtrs;
  void **ArgPtrs;
  int64_t *ArgSizes;
  int64_t *ArgTypes;
  void **ArgNames;
  void **ArgMappers;
  uint64_t Tripcount;
  uint64_t Flags;
  uint32_t NumTeams[3];    /* set by the launch */
  uint32_t ThreadLimit[3]; /* set by the launch */
  uint32_t DynCGroupMem;   /* bytes of dynamic shared memory */
};

/* clang-format off */
#define REX_KERNEL_ARGUMENTS(count, bases, begins, sizes, types, names, trips)                               \
  { 0, (uint32_t)(count), (bases), (begins), (sizes), (types), (names), NULL, (uint64_t)(trips), 0,          \
    { 0, 0, 0 }, { 0, 0, 0 }, 0 }
/* clang-format on */

/* The kind of a dependence. gcc before 13 lacks it: there the tasks of a set follow each other. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
#define REX_INOUTSET inout
#else
#define REX_INOUTSET inoutset
#endif

/* A call through a pointer, where device code looks the function up. */
#define rex_indirect(function, hosts, devices, n) (function)

/* An allocate directive. gcc does not take it for all variables: there they lie where variables lie. */
#if (defined(__cplusplus) && __cplusplus >= 201103L) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#ifdef __clang__
#define REX_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define REX_ALLOCATE(...) REX_PRAGMA(omp __VA_ARGS__)
#else
#define REX_ALLOCATE(...)
#endif
#else
#define REX_ALLOCATE(directive)
#endif

/* The device of a directive without a device clause. No number of the program's means it. */
#define REX_DEVICE_DEFAULT INT64_MIN
/* OpenMP's own numbers, for omp.h files that lack them. */
#define REX_DEVICE_INITIAL (-1)
#define REX_DEVICE_INVALID (-2)

/* Number of teams for a kernel whose teams all update one place at their end (a reduction), when the program
 * leaves the number open: as few as keep the device busy. 0 leaves it open for any other kernel. */
#define REX_TEAMS_FEW (-1)

/* The same for a kernel whose teams share the iterations of a loop and whose threads share the work inside one:
 * a team for each iteration. */
#define REX_TEAMS_EACH (-2)

/* The runtime's spelling of where a mapped item is: REX_NAME("x[0:n]"). */
#define REX_NAME(item) ((void *)(";" item ";" __FILE__ ";" REX_TEXT(__LINE__) ";0;;"))
/* The same for an item of the file that was lowered: REX_ITEM("x[0:n]", 12, 40). A lowered file defines
 * REX_SOURCE_FILE to the name of that file. */
#define REX_ITEM(item, line, column) ((void *)(";" item ";" REX_SOURCE_FILE ";" #line ";" #column ";;"))
#define REX_TEXT(tokens) REX_TEXT_OF(tokens)
#define REX_TEXT_OF(tokens) #tokens

/* The type of an enumeration without a name, by one of its constants. */
#define REX_ENUM_OF(constant) __typeof__(constant)

/* A value of at most 8 bytes in a pointer-sized slot, the way kernels take literals. */
static __inline__ void *rex_literal(const volatile void *value, size_t bytes) {
  void *slot = NULL;
  __builtin_memcpy(&slot, (const void *)value, bytes);
  return slot;
}

/* Storage from the lowest to behind the highest of several pieces: a combined map entry. */
struct rex_span {
  char *low, *high;
};
#define REX_NO_SPAN { NULL, NULL }
static __inline__ void rex_span_add(struct rex_span *span, void *begin, int64_t bytes) {
  char *low = (char *)begin, *high = low + bytes;
  if (!span->low || low < span->low) span->low = low;
  if (!span->high || high > span->high) span->high = high;
}

/* Map arrays whose length is known at run time only: a mapper over a section, an iterator, the pieces of a
 * strided section. */
struct rex_maps {
  int32_t rex_count, rex_capacity;
  void **rex_bases, **rex_begins;
  int64_t *rex_sizes, *rex_types;
  void **rex_names;
};
#define REX_NO_MAPS { 0, 0, NULL, NULL, NULL, NULL, NULL }
/* Adds an item to a list. The result, or'd into the type of a later item, makes that a member of this one. */
REX_HIDDEN int64_t rex_map(struct rex_maps *maps, void *base_pointer, void *begin_pointer, int64_t bytes, int64_t type, void *name);
REX_HIDDEN void rex_maps_free(struct rex_maps *maps);

#ifndef __cplusplus
/* Routines of the offload runtime that return pointers and that older <omp.h> lack: without a declaration they would return int. */
extern void *omp_get_mapped_ptr(const void *pointer, int device);
extern void *omp_target_memset(void *pointer, int value, size_t bytes, int device);
#endif

/* `present` is asked for where a data region begins, not where it ends. */
static __inline__ void rex_forget_present(int32_t count, int64_t *types) {
  int32_t i;
  for (i = 0; i < count; i++) types[i] &= ~(int64_t)0x1000;
}

/* Iterations of a loop that covers `span` in steps of `step`. A hint for the default geometry, no more. */
static __inline__ uint64_t rex_trips(int64_t span, int64_t step) {
  return span > 0 && step > 0 ? ((uint64_t)span - 1) / (uint64_t)step + 1 : 0;
}

/* Bytes of dynamic shared memory for an array of a team: rex_launch.DynCGroupMem = the sum over all arrays. A sum that
 * a device does not have counts as 0, then the kernel takes them from the heap; what no device has counts as 1 MiB. */
static __inline__ uint32_t rex_shared_bytes(uint64_t bytes) {
  const uint64_t most = 1 << 20;
  return (uint32_t)(bytes < most ? (bytes + 15) / 16 * 16 : most);
}

/* Runs a kernel and waits for it. teams: a number, 0, REX_TEAMS_FEW or REX_TEAMS_EACH; threads: a number or 0 (open).
 * Returns 0 when it ran on the device; otherwise the caller runs the original statement. */
#define __tgt_target_kernel(device, teams, threads, key, arguments)                                          \
  rex___tgt_target_kernel(__FILE__, __func__, __LINE__, device, teams, threads, key, arguments)

/* Maps, unmaps or updates items. After begin, bases[i] of a RETURN_PARAM item is its device address. */
#define __tgt_target_data_begin(device, count, bases, begins, sizes, types, names)                           \
  rex___tgt_target_data_begin(__FILE__, __func__, __LINE__, device, count, bases, begins, sizes, types, names)
#define __tgt_target_data_end(device, count, bases, begins, sizes, types, names)                             \
  rex___tgt_target_data_end(__FILE__, __func__, __LINE__, device, count, bases, begins, sizes, types, names)
#define __tgt_target_data_update(device, count, bases, begins, sizes, types, names)                          \
  rex___tgt_target_data_update(__FILE__, __func__, __LINE__, device, count, bases, begins, sizes, types,     \
                               names)

/* Defined once per program or shared library, by register_cubin.cpp. Hidden, so that each library keeps to
 * its own image when several are loaded into one process. */
REX_HIDDEN int rex___tgt_target_kernel(const char *file, const char *function, int line, int64_t device,
                                       int32_t teams, int32_t threads, void *key,
                                       const struct __tgt_kernel_arguments *arguments);
REX_HIDDEN void rex___tgt_target_data_begin(const char *file, const char *function, int line, int64_t device,
                                            int32_t count, void **bases, void **begins, int64_t *sizes,
                                            int64_t *types, void **names);
REX_HIDDEN void rex___tgt_target_data_end(const char *file, const char *function, int line, int64_t device,
                                          int32_t count, void **bases, void **begins, int64_t *sizes,
                                          int64_t *types, void **names);
REX_HIDDEN void rex___tgt_target_data_update(const char *file, const char *function, int line, int64_t device,
                                             int32_t count, void **bases, void **begins, int64_t *sizes,
                                             int64_t *types, void **names);

/* ---- Dependences of copies ----------------------------------------------------------------------------- */

/* LLVM's runtime does not know gcc's objects of dependences. With gcc's omp.h an asynchronous copy waits for what it
 * depends on and is done at once. */
#if defined(_OPENMP) && defined(_OMP_H) && defined(__GNUC__) && !defined(__clang__)
__attribute__((__unused__)) static int rex_target_memcpy_async(void *to, const void *from, size_t bytes, size_t to_offset,
                                                           size_t from_offset, int to_device, int from_device,
                                                           int dependences_count, omp_depend_t *dependences) {
  int i;
  for (i = 0; i < dependences_count; i++) {
    omp_depend_t *dependence = &dependences[i];
#pragma omp taskwait depend(depobj : *dependence)
  }
  return omp_target_memcpy(to, (void *)from, bytes, to_offset, from_offset, to_device, from_device);
}

__attribute__((__unused__)) static int
rex_target_memcpy_rect_async(void *to, const void *from, size_t element_bytes, int dimensions, const size_t *volume,
                             const size_t *to_offsets, const size_t *from_offsets, const size_t *to_extents,
                             const size_t *from_extents, int to_device, int from_device, int dependences_count,
                             omp_depend_t *dependences) {
  int i;
  for (i = 0; i < dependences_count; i++) {
    omp_depend_t *dependence = &dependences[i];
#pragma omp taskwait depend(depobj : *dependence)
  }
  return omp_target_memcpy_rect(to, (void *)from, element_bytes, dimensions, volume, to_offsets, from_offsets,
                                to_extents, from_extents, to_device, from_device);
}

#define omp_target_memcpy_async rex_target_memcpy_async
#define omp_target_memcpy_rect_async rex_target_memcpy_rect_async
#endif

#ifdef __cplusplus
}

/* ---- Private static data members ------------------------------------------------------------------------ */

/* Where a member is that only its class may name: REX_PRIVATE_MEMBER(tag, Counter::hidden); the arguments of an
 * explicit instantiation are free of access control, and the friend that it defines is found by its tag. */
#if __cplusplus >= 201103L
#define REX_CONSTANT constexpr
#else
#define REX_CONSTANT
#endif
template <typename Tag, typename Value, Value *Object> struct rex_private_member {
  friend REX_CONSTANT void *rex_private_address(Tag) { return Object; }
  friend REX_CONSTANT size_t rex_private_bytes(Tag) { return sizeof(Value); }
};
#define REX_PRIVATE_MEMBER(tag, member)                                                                        \
  struct tag;                                                                                                \
  REX_CONSTANT void *rex_private_address(tag *);                                                             \
  REX_CONSTANT size_t rex_private_bytes(tag *);                                                              \
  template struct rex_private_member<tag *, __typeof__(member), &member>
#define REX_ADDRESS_OF_PRIVATE(tag) rex_private_address((tag *)0)
#define REX_BYTES_OF_PRIVATE(tag) rex_private_bytes((tag *)0)

/* ---- Kernels of templates ------------------------------------------------------------------------------ */

/* The entry of one instantiation of a kernel template; its address is the host key. register_cubin.cpp makes
 * the device symbol of `type`, the name that the compiler gives to the tag: a tag has the name and the
 * arguments of its kernel. The list of entries is complete when main begins; a launch before that, from the
 * constructor of a static object, adds its own. */
struct REX_HIDDEN rex_instance_entry {
  void add(const char *kernel_name, const char *type_name, const char *renamed,
           int parameters_count, const char *pack_type); /* once; then nothing */
  const char *kernel, *type, *renamed_types;
  int parameters;
  const char *pack;
  rex_instance_entry *next;
};

/* Types and namespaces of the program that have another name in device code: "NAME=OTHER NAME=OTHER". */
#ifndef REX_RENAMED_TYPES
#define REX_RENAMED_TYPES ""
#endif

/* In a tag: the kernel's name, types in its arguments that are renamed, and its parameters without the hidden one. */
#define REX_KERNEL_TEMPLATE(name, parameters_count) REX_KERNEL_TEMPLATE_OF_PACK(name, parameters_count, "")
/* The same for a kernel with one more parameter for each value of a pack; the symbols of its instances say which of
 * its parameters of types the pack is: T_, T0_, T1_. */
#define REX_KERNEL_TEMPLATE_OF_PACK(name, parameters_count, pack)                                            \
  static const char *rex_pack() { return pack; }                                                             \
  static const char *rex_kernel() { return name; }                                                           \
  static const char *rex_renamed() { return REX_RENAMED_TYPES; }                                             \
  static int rex_parameters() { return parameters_count; }

/* The name that the compiler gives to a type; without run-time type information (-fno-rtti) the symbol of a member,
 * whose text register_cubin.cpp makes that name of. */
#ifdef __GXX_RTTI
#define REX_TYPE_NAME(type) typeid(type).name()
#elif defined(__x86_64__) || defined(__aarch64__)
#ifdef __x86_64__
#define REX_ADDRESS_OF_LABEL "{leaq 1997b(%%rip), %0|lea %0, 1997b[rip]}"
#else
#define REX_ADDRESS_OF_LABEL "adrp %0, 1997b\n\tadd %0, %0, :lo12:1997b"
#endif
template <typename Type> struct REX_HIDDEN rex_name_of {
  static char rex_mark; /* no more than a symbol */
  static const char *rex_symbol() {
    const char *symbol;
    __asm__(".pushsection .rodata.rex_names, \"a\"\n1997: .string \"%c1\"\n.popsection\n\t" REX_ADDRESS_OF_LABEL
            : "=r"(symbol)
            : "i"(&rex_mark));
    return symbol;
  }
};
template <typename Type> char rex_name_of<Type>::rex_mark;
#define REX_TYPE_NAME(type) rex_name_of<type>::rex_symbol()
#else
template <typename Type> struct rex_kernels_of_templates_need_rtti;
#define REX_TYPE_NAME(type) rex_kernels_of_templates_need_rtti<type>::rex_symbol()
#endif

template <typename Tag> struct REX_HIDDEN rex_instance {
  static void *rex_key() {
    return is_known ? &entry : add();
  }

private:
  static rex_instance_entry entry; /* zero before any constructor runs */
  static void *const is_known;
  static void *add() {
    entry.add(Tag::rex_kernel(), REX_TYPE_NAME(Tag), Tag::rex_renamed(), Tag::rex_parameters(), Tag::rex_pack());
    return &entry;
  }
};
template <typename Tag> rex_instance_entry rex_instance<Tag>::entry;
template <typename Tag> void *const rex_instance<Tag>::is_known = rex_instance<Tag>::add();

/* The entry of a static data member of one instantiation of a class template, for directives that name it:
 * REX_MEMBER_NAME(value); once, REX_MEMBER_ON_DEVICE(value, Box<int>); before the directive. register_cubin.cpp makes the device
 * symbol of the class's type; no device code uses what has none. */
struct REX_HIDDEN rex_member_entry {
  void *add(const char *member_name, const char *type_name, const char *renamed, void *object_address,
            size_t object_bytes);
  const char *member, *type, *renamed_types;
  void *address;
  size_t bytes;
  rex_member_entry *next;
};
template <typename Name, typename Class, typename Value, Value *Object> struct REX_HIDDEN rex_static_member {
  static void *const is_known;

private:
  static rex_member_entry entry; /* zero before any constructor runs */
};
template <typename Name, typename Class, typename Value, Value *Object>
rex_member_entry rex_static_member<Name, Class, Value, Object>::entry;
template <typename Name, typename Class, typename Value, Value *Object>
void *const rex_static_member<Name, Class, Value, Object>::is_known =
    entry.add(Name::rex_name(), REX_TYPE_NAME(Class), Name::rex_renamed(), (void *)Object, sizeof(Value));
#define REX_MEMBER_NAME(member)                                                                              \
  struct rex_name_of_##member {                                                                              \
    static const char *rex_name() { return #member; }                                                        \
    static const char *rex_renamed() { return REX_RENAMED_TYPES; }                                           \
  }
#if __cplusplus >= 201103L
#define REX_MEMBER_ON_DEVICE(member, ...)                                                                    \
  ((void)rex_static_member<rex_name_of_##member, __VA_ARGS__, __typeof__(__VA_ARGS__::member),               \
                           &__VA_ARGS__::member>::is_known)
#else
#define REX_MEMBER_ON_DEVICE(member, class_type)                                                             \
  ((void)rex_static_member<rex_name_of_##member, class_type, __typeof__(class_type::member),                 \
                           &class_type::member>::is_known)
#endif

/* The type of a variable that the file does not spell. */
#define REX_TYPE_OF(variable) typename rex_plain<decltype(variable)>::rex_type
template <typename Value> struct rex_plain {
  typedef Value rex_type;
};
template <typename Value> struct rex_plain<Value &> {
  typedef Value rex_type;
};
#if __cplusplus >= 201103L
template <typename Value> struct rex_plain<Value &&> {
  typedef Value rex_type;
};
#endif

/* Where an object is put: programs may define by themselves what <new> has for addresses. */
struct rex_place {
  void *at;
};
inline void *operator new(size_t, rex_place place) throw() { return place.at; }
inline void operator delete(void *, rex_place) throw() {}

/* A copy of an array whose elements are copied and destroyed by functions of their class. */
template <typename Element, typename Array> class rex_array_of_copies {
public:
  template <typename Row> explicit rex_array_of_copies(const Row *rows) {
    const Element *from = reinterpret_cast<const Element *>(rows);
    for (size_t i = 0; i < count; ++i) {
      const rex_place place = {bytes + i * sizeof(Element)};
      ::new (place) Element(from[i]);
    }
  }
  ~rex_array_of_copies() {
    Element *elements = reinterpret_cast<Element *>(bytes);
    for (size_t i = count; i > 0; --i) elements[i - 1].~Element();
  }

  Array &rex_object() { return *reinterpret_cast<Array *>(bytes); }

private:
  rex_array_of_copies(const rex_array_of_copies &);
  void operator=(const rex_array_of_copies &);

  static const size_t count = sizeof(Array) / sizeof(Element);
  __attribute__((aligned(__alignof__(Element)))) unsigned char bytes[sizeof(Array)];
};

/* The pointer that a member of reference type is. No object with such a member is of a class that the standard lets offsetof look into; gcc
 * and clang lay it out like one. */
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
#define REX_REFERENCE_MEMBER(object, member)                                                                 \
  (*(void **)((char *)&(object) + __builtin_offsetof(__typeof__(object), member)))

/* What a variable is to the data environment, when only an instantiation knows its type. */
template <typename Value> struct rex_category {
  enum {
    is_object = __is_class(Value) || __is_union(Value) || sizeof(Value) > sizeof(void *),
    is_pointer = 0,
    is_const = 0,
    is_lambda = 0
  };
};
template <typename Value> struct rex_category<Value *> {
  enum { is_object = 0, is_pointer = 1, is_const = 0, is_lambda = 0 };
};
template <typename Value> struct rex_category<Value *__restrict> : rex_category<Value *> {};
template <typename Value> struct rex_category<volatile Value> : rex_category<Value> {};
template <typename Value> struct rex_category<const volatile Value> : rex_category<const Value> {};
template <typename Value, size_t Count> struct rex_category<Value[Count]> {
  enum { is_object = 1, is_pointer = 0, is_const = rex_category<Value>::is_const, is_lambda = 0 };
};
template <typename Value> struct rex_category<const Value> {
  enum {
    is_object = rex_category<Value>::is_object,
    is_pointer = rex_category<Value>::is_pointer,
    is_const = 1,
    is_lambda = rex_category<Value>::is_lambda
  };
};
template <typename Value, size_t Count> struct rex_category<const Value[Count]> {
  enum { is_object = 1, is_pointer = 0, is_const = 1, is_lambda = 0 };
};

/* The variable that the host's own execution of a region has: a copy, or the object itself that the region maps. */
template <typename Value, bool is_copied = !rex_category<Value>::is_object || rex_category<Value>::is_lambda>
struct rex_host_variable {
  typedef Value rex_type;
};
template <typename Value> struct rex_host_variable<Value, false> {
  typedef Value &rex_type;
};

#if __cplusplus >= 201103L
/* A lambda that device code calls. The compilers of host and device have different names for its type, so a file
 * and a number tell it from all others, with the arguments of the templates around it; the end, which has them all,
 * makes the rest of the type easy to skip in a name. It remembers where in itself captured pointers and references
 * are: 1 + the index of a word, 0 for one that it has no copy of. */
template <unsigned File, int Number, typename... Around> struct rex_lambda_end {};
template <typename Value, Value value> struct rex_argument_value {};
/* How a lambda is called that has no `auto` parameters. */
template <typename Member> struct rex_call_of_member {
  typedef void rex_type;
};
template <typename Lambda, typename Result, typename... Arguments>
struct rex_call_of_member<Result (Lambda::*)(Arguments...) const> {
  typedef Result rex_type(Arguments...) const;
};
template <typename Lambda, typename Result, typename... Arguments>
struct rex_call_of_member<Result (Lambda::*)(Arguments...)> {
  typedef Result rex_type(Arguments...);
};
#ifdef __cpp_noexcept_function_type
template <typename Lambda, typename Result, typename... Arguments>
struct rex_call_of_member<Result (Lambda::*)(Arguments...) const noexcept> {
  typedef Result rex_type(Arguments...) const;
};
template <typename Lambda, typename Result, typename... Arguments>
struct rex_call_of_member<Result (Lambda::*)(Arguments...) noexcept> {
  typedef Result rex_type(Arguments...);
};
#endif
template <typename Lambda, typename = void> struct rex_call {
  typedef void rex_type;
};
template <typename Lambda>
struct rex_call<Lambda, decltype((void)&Lambda::operator())> : rex_call_of_member<decltype(&Lambda::operator())> {};

template <int Pointers, typename Lambda> struct rex_closure_of : Lambda {
  rex_closure_of(Lambda &&lambda, const void *const *targets) : Lambda(static_cast<Lambda &&>(lambda)) {
    int next = 0;
    for (int i = 0; i < Pointers; ++i) {
      words[i] = find(targets[i], next, words_count);
      if (!words[i]) words[i] = find(targets[i], 0, next);
      if (words[i]) next = words[i];
    }
  }
  void **word(int number) const { return (void **)(const Lambda *)this + (number - 1); }

  uint16_t words[Pointers];

private:
  static constexpr int words_count = (int)(sizeof(Lambda) / sizeof(void *));
  uint16_t find(const void *target, int begin, int end) const {
    for (int at = begin + 1; target && at <= end; ++at)
      if (!__builtin_memcmp(word(at), &target, sizeof target)) return (uint16_t)at;
    return 0;
  }
};
template <typename Lambda> struct rex_closure_of<0, Lambda> : Lambda {
  constexpr rex_closure_of(Lambda &&lambda) : Lambda(static_cast<Lambda &&>(lambda)) {}
};
/* Programs ask for the type of &Closure::operator(), which names the class of the function. */
template <unsigned File, int Number, int Pointers, typename Lambda, typename Call, typename End>
struct rex_closure : rex_closure_of<Pointers, Lambda> {
  using rex_closure_of<Pointers, Lambda>::rex_closure_of;
};
template <unsigned File, int Number, int Pointers, typename Lambda, typename Result, typename... Arguments, typename End>
struct rex_closure<File, Number, Pointers, Lambda, Result(Arguments...) const, End> : rex_closure_of<Pointers, Lambda> {
  using rex_closure_of<Pointers, Lambda>::rex_closure_of;
  constexpr Result operator()(Arguments... arguments) const {
    return static_cast<const Lambda &>(*this)(static_cast<Arguments &&>(arguments)...);
  }
};
template <unsigned File, int Number, int Pointers, typename Lambda, typename Result, typename... Arguments, typename End>
struct rex_closure<File, Number, Pointers, Lambda, Result(Arguments...), End> : rex_closure_of<Pointers, Lambda> {
  using rex_closure_of<Pointers, Lambda>::rex_closure_of;
  Result operator()(Arguments... arguments) {
    return static_cast<Lambda &>(*this)(static_cast<Arguments &&>(arguments)...);
  }
};
template <unsigned File, int Number, int Pointers, typename Lambda, typename... Around>
using rex_closure_type = rex_closure<File, Number, Pointers, Lambda, typename rex_call<Lambda>::rex_type,
                                     rex_lambda_end<File, Number, Around...>>;
template <unsigned File, int Number, typename... Around, typename Lambda>
constexpr rex_closure_type<File, Number, 0, Lambda, Around...> rex_lambda(Lambda &&lambda) {
  return static_cast<Lambda &&>(lambda);
}
template <unsigned File, int Number, typename... Around, typename Lambda, typename... Targets>
rex_closure_type<File, Number, sizeof...(Targets), Lambda, Around...> rex_lambda(Lambda &&lambda, Targets... targets) {
  const void *const list[] = {targets...};
  return {static_cast<Lambda &&>(lambda), list};
}
/* What a captured variable points to: nothing, if it is no pointer; a reference points to the variable. */
template <typename Value> constexpr const void *rex_by_value(const Value &value) {
  return rex_category<Value>::is_pointer ? *(const void *const volatile *)__builtin_addressof(value) : nullptr;
}
#define REX_BY_REFERENCE(variable) ((const void *)&(const volatile char &)(variable))

template <unsigned File, int Number, int Pointers, typename Lambda, typename Call, typename End>
struct rex_category<rex_closure<File, Number, Pointers, Lambda, Call, End>> {
  enum { is_object = 1, is_pointer = 0, is_const = 0, is_lambda = 1 };
};

/* Entries for what a lambda points to: its private copy on the device has the addresses there. */
template <typename Value> struct rex_pointers {
  static void map(struct rex_maps *, int64_t, const Value &) {}
};
template <typename Value> struct rex_pointers<const Value> : rex_pointers<Value> {};
template <unsigned File, int Number, int Pointers, typename Lambda, typename Call, typename End>
struct rex_pointers<rex_closure<File, Number, Pointers, Lambda, Call, End>> {
  typedef rex_closure<File, Number, Pointers, Lambda, Call, End> Closure;
  static void map(struct rex_maps *maps, int64_t member, const Closure &closure) {
    for (int i = 0; i < Pointers; ++i)
      if (closure.words[i]) {
        void **word = closure.word(closure.words[i]);
        rex_map(maps, word, *word, 0, member | 0x310, REX_NAME("captured by a lambda"));
      }
  }
};
template <unsigned File, int Number, typename Lambda, typename Call, typename End>
struct rex_pointers<rex_closure<File, Number, 0, Lambda, Call, End>> {
  static void map(struct rex_maps *, int64_t, const Lambda &) {}
};
template <typename Value> inline void rex_map_pointers(struct rex_maps *maps, int64_t member, Value &value) {
  rex_pointers<Value>::map(maps, member, value);
}
#else
template <typename Value> inline void rex_map_pointers(struct rex_maps *, int64_t, Value &) {}
#endif

/* What a pointer points to whose type a template's parameter gives; the same, or what an array is of (rex_nvidia.h has both). */
template <typename Value> struct rex_pointee {
#if __cplusplus >= 201103L
  static_assert(sizeof(Value) == 0, "a list item takes elements of what is no pointer");
#endif
};
template <typename Value> struct rex_pointee<Value *> {
  typedef Value rex_type;
};
template <typename Value> struct rex_pointee<Value *const> : rex_pointee<Value *> {};
template <typename Value> struct rex_pointee<Value &> : rex_pointee<Value> {};
template <typename Value> struct rex_element : rex_pointee<Value> {};
template <typename Value> struct rex_element<Value &> : rex_element<Value> {};
template <typename Value, size_t Extent> struct rex_element<Value[Extent]> {
  typedef Value rex_type;
};
/* An object of a type, where only its members' types matter. */
template <typename Value> Value &rex_object_of();

/* The argument: the value of a scalar or a pointer, the address of an object. */
template <typename Value> inline void *rex_captured(Value &value) {
  if (rex_category<Value>::is_object) return (void *)__builtin_addressof(value);
  return rex_literal((const void *)__builtin_addressof(value), rex_category<Value>::is_object ? 0 : sizeof value);
}
template <typename Value> inline int64_t rex_captured_bytes(Value &value) {
  return rex_category<Value>::is_pointer ? 0 : (int64_t)sizeof value;
}
/* Scalars are literals, pointers sections without length, objects mapped (constant ones in one direction), lambdas
 * private copies. */
template <typename Value> inline int64_t rex_captured_types(Value &) {
  if (rex_category<Value>::is_lambda) return 0x2a1;
  if (rex_category<Value>::is_object) return rex_category<Value>::is_const ? 0x221 : 0x223;
  return rex_category<Value>::is_pointer ? 0x220 : 0x320;
}
#if __cplusplus >= 201103L
/* The values of a pack, each as a variable of its type. */
inline void rex_map_all(struct rex_maps *, void *) {}
template <typename Value, typename... Others>
inline void rex_map_all(struct rex_maps *maps, void *name, Value &value, Others &...others) {
  const int64_t member = rex_map(maps, rex_captured(value), rex_captured(value), rex_captured_bytes(value),
                                 rex_captured_types(value), name);
  rex_map_pointers(maps, member, value);
  rex_map_all(maps, name, others...);
}
#endif
template <typename Value> inline int64_t rex_firstprivate_bytes(Value &value) { return (int64_t)sizeof value; }
/* Literals, and private copies of objects. */
template <typename Value> inline int64_t rex_firstprivate_types(Value &) {
  return rex_category<Value>::is_object ? 0xa1 : 0x120;
}
#endif

/* ---- Layouts, checked where they are used -------------------------------------------------------------- */

#define REX_CHECK(name, condition) typedef char rex_check_##name[(condition) ? 1 : -1]
REX_CHECK(pointers_have_8_bytes, sizeof(void *) == 8);
REX_CHECK(entry_size, sizeof(struct __tgt_offload_entry) == (REX_LLVM_ABI >= 20 ? 56 : 32));
REX_CHECK(entry_address, offsetof(struct __tgt_offload_entry, addr) == (REX_LLVM_ABI >= 20 ? 16 : 0));
REX_CHECK(arguments_size, sizeof(struct __tgt_kernel_arguments) == 104);
REX_CHECK(arguments_trips, offsetof(struct __tgt_kernel_arguments, Tripcount) == 56);
REX_CHECK(arguments_teams, offsetof(struct __tgt_kernel_arguments, NumTeams) == 72);

#endif
