#include "core/base/mapped_file.h"

#if (defined(__unix__) || defined(__APPLE__)) && !defined(__EMSCRIPTEN__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace rill {

#if (defined(__unix__) || defined(__APPLE__)) && !defined(__EMSCRIPTEN__)

MappedBytes map_file(int descriptor, size_t bytes) {
  if (bytes == 0) return {};
  void* const at = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (at == MAP_FAILED) return {};
  const auto unmap = [bytes](const std::byte* own) { munmap(const_cast<std::byte*>(own), bytes); };
  return {{static_cast<const std::byte*>(at), unmap}, bytes};
}

void drop_pages(std::span<const std::byte> mapped) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uintptr_t>(mapped.data());
  const uintptr_t begin = (first + page - 1) / page * page;
  const uintptr_t end = (first + mapped.size()) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

#else

MappedBytes map_file(int, size_t) { return {}; }
void drop_pages(std::span<const std::byte>) {}

#endif

}  // namespace rill
