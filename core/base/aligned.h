#pragma once

#include <cstddef>
#include <cstdlib>

#if defined(_WIN32)
#include <malloc.h>
#endif

namespace rill {

/// Take memory that begins at a multiple of `alignment`. `bytes` is a multiple of it, too. Null if
/// there is none. `free_aligned` gives it back.
inline void* allocate_aligned(size_t alignment, size_t bytes) noexcept {
#if defined(_WIN32)
  return _aligned_malloc(bytes, alignment);
#elif defined(__ANDROID__)
  void* memory = nullptr;  // aligned_alloc came with a later API than the least one
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
