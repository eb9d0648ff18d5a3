// Preloaded before librill.so: refuses the N-th memory request of librill.so in this thread,
// including requests that the C++ library makes on its behalf. Requests of the program itself
// succeed.
#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

struct Range {
  uintptr_t begin = 0, end = 0;
  bool has(const void* at) const {
    return reinterpret_cast<uintptr_t>(at) >= begin && reinterpret_cast<uintptr_t>(at) < end;
  }
};
Range ranges[2];
thread_local int64_t left __attribute__((tls_model("initial-exec"))) = -1;
thread_local int64_t seen __attribute__((tls_model("initial-exec"))) = 0;
thread_local bool all __attribute__((tls_model("initial-exec"))) = false;

bool refuse(const void* caller) {
  if (left == -1 || (!ranges[0].has(caller) && !ranges[1].has(caller))) return false;
  ++seen;
  if (left > 0) {
    --left;
    return false;
  }
  if (!all) left = -1;
  return true;
}

int add(dl_phdr_info* info, size_t, void*) {
  const char* names[] = {"librill", "libstdc++"};
  for (int i = 0; i < 2; ++i) {
    if (!std::strstr(info->dlpi_name, names[i])) continue;
    for (int j = 0; j < info->dlpi_phnum; ++j) {
      const auto& header = info->dlpi_phdr[j];
      if (header.p_type != PT_LOAD || !(header.p_flags & PF_X)) continue;
      ranges[i].begin = info->dlpi_addr + header.p_vaddr;
      ranges[i].end = ranges[i].begin + header.p_memsz;
    }
  }
  return 0;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void* thrown(size_t size, size_t alignment, const void* caller) {
  void* out = nullptr;
  if (!refuse(caller)) {
    static const auto plain = next<void* (*)(size_t)>("malloc");
    static const auto aligned = next<void* (*)(size_t, size_t)>("memalign");
    out = alignment ? aligned(alignment, size ? size : 1) : plain(size ? size : 1);
  }
  if (!out) throw std::bad_alloc();
  return out;
}

}  // namespace

extern "C" {

/// Start counting; call this after librill.so is loaded.
void refuse_begin() { dl_iterate_phdr(add, nullptr); }
/// Refuse the request after the next `count`: only this one, or with `every` all later ones too;
/// -1: none.
void refuse_after(int64_t count, int every) {
  seen = 0;
  all = every != 0;
  left = count;
}
/// Return the number of requests since then.
int64_t refuse_seen() { return seen; }

void* malloc(size_t size) {
  static const auto real = next<void* (*)(size_t)>("malloc");
  return refuse(__builtin_return_address(0)) ? nullptr : real(size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  static const auto real = next<void* (*)(size_t, size_t)>("aligned_alloc");
  return refuse(__builtin_return_address(0)) ? nullptr : real(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  static const auto real = next<int (*)(void**, size_t, size_t)>("posix_memalign");
  return refuse(__builtin_return_address(0)) ? 12 : real(out, alignment, size);
}
void* realloc(void* old, size_t size) {
  static const auto real = next<void* (*)(void*, size_t)>("realloc");
  return refuse(__builtin_return_address(0)) ? nullptr : real(old, size);
}

}  // extern "C"

void* operator new(size_t size) { return thrown(size, 0, __builtin_return_address(0)); }
void* operator new[](size_t size) { return thrown(size, 0, __builtin_return_address(0)); }
void* operator new(size_t size, std::align_val_t alignment) {
  return thrown(size, static_cast<size_t>(alignment), __builtin_return_address(0));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  static const auto real = next<void* (*)(size_t)>("malloc");
  return refuse(__builtin_return_address(0)) ? nullptr : real(size ? size : 1);
}
