#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#if defined(_WIN32)
#include <malloc.h>
#endif

namespace rill {

/// Allocate memory at a multiple of `alignment`; `wanted` bytes must be a multiple of it too.
/// Return null if memory ran out, or if the size exceeds the address space. `free_aligned` frees
/// it.
inline void* allocate_aligned(size_t alignment, uint64_t wanted) noexcept {
  if (sizeof(size_t) < sizeof wanted && wanted > PTRDIFF_MAX) return nullptr;
  const auto bytes = static_cast<size_t>(wanted);
#if defined(_WIN32)
  return _aligned_malloc(bytes, alignment);
#elif defined(__ANDROID__)
  void* memory = nullptr;  // the lowest supported API level lacks aligned_alloc
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
#else
  return std::aligned_alloc(alignment, bytes);
#endif
}

inline void free_aligned(void* memory) noexcept {
#if defined(_WIN32)
  _aligned_free(memory);
#else
  std::free(memory);
#endif
}

}  // namespace rill
