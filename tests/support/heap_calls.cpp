#include "tests/support/heap_calls.h"

#include <cerrno>
#include <cstddef>
#include <new>

#include "tests/support/sanitized.h"

namespace {

// Static TLS of the program itself, so that the first access does not allocate.
thread_local int64_t calls = 0;
thread_local int64_t requests = 0;
thread_local int64_t bytes_asked = 0;

}  // namespace

int64_t rill::test::heap_calls() { return calls; }
int64_t rill::test::heap_requests() { return requests; }
int64_t rill::test::heap_bytes_asked() { return bytes_asked; }

#if defined(RILL_SANITIZED)

// Sanitizers replace the allocator, but offer hooks.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void*,
                                                                             size_t),
                                                         void (*free_hook)(const volatile void*));

int64_t rill::test::heap_blocks() { return -1; }
int64_t rill::test::heap_bytes() { return -1; }
void rill::test::fail_heap_after(int64_t, bool) {}

namespace {

void on_malloc(const volatile void*, size_t size) {
  ++calls;
  bytes_asked += static_cast<int64_t>(size);
}
void on_free(const volatile void*) { ++calls; }
const int installed = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);

}  // namespace

#elif defined(__GLIBC__)

#include <malloc.h>

extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* pointer, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* pointer);

}  // extern "C"

namespace {

thread_local int64_t blocks = 0;
thread_local int64_t bytes = 0;
thread_local int64_t left = -1;  // requests until the refused one
thread_local bool refuse_all = false;

bool refused() {
  ++requests;
  if (left < 0) return false;
  if (left > 0) return --left, false;
  if (!refuse_all) left = -1;
  errno = ENOMEM;
  return true;
}

void* counted(void* block) {
  ++calls;
  if (block) {
    const auto size = static_cast<int64_t>(malloc_usable_size(block));
    ++blocks;
    bytes += size;
    bytes_asked += size;
  }
  return block;
}

void given_back(void* block) {
  --blocks;
  bytes -= static_cast<int64_t>(malloc_usable_size(block));
}

}  // namespace

int64_t rill::test::heap_blocks() { return blocks; }
int64_t rill::test::heap_bytes() { return bytes; }

void rill::test::fail_heap_after(int64_t count, bool all) {
  left = count;
  refuse_all = all;
}

extern "C" {

void* malloc(size_t size) { return counted(__libc_malloc(size)); }
void* calloc(size_t count, size_t size) { return counted(__libc_calloc(count, size)); }
void* realloc(void* pointer, size_t size) {
  if (pointer) given_back(pointer);
  return counted(__libc_realloc(pointer, size));
}
void* memalign(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size)); }
void* aligned_alloc(size_t alignment, size_t size) {
  return refused() ? nullptr : memalign(alignment, size);
}
int posix_memalign(void** pointer, size_t alignment, size_t size) {
  *pointer = memalign(alignment, size);
  return *pointer ? 0 : ENOMEM;
}
void free(void* pointer) {
  if (pointer) {
    ++calls;
    given_back(pointer);
  }
  __libc_free(pointer);
}

}  // extern "C"

// The other forms of new and delete call these.
void* operator new(size_t size) {
  void* block = refused() ? nullptr : malloc(size == 0 ? 1 : size);
  if (!block) throw std::bad_alloc();
  return block;
}
void operator delete(void* pointer) noexcept { free(pointer); }
void operator delete(void* pointer, size_t) noexcept { free(pointer); }

#else

int64_t rill::test::heap_blocks() { return -1; }
int64_t rill::test::heap_bytes() { return -1; }
void rill::test::fail_heap_after(int64_t, bool) {}

#endif
