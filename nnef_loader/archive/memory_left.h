#pragma once

#include <memory>
#include <string_view>

#include "core/base/aligned.h"
#include "core/base/status.h"

namespace rill::nnef {

/// Check that there is memory for the buffers of libarchive and zlib, for reading or writing:
/// libarchive ends the process if they cannot be allocated.
/// Errors: kNoMem.
inline Status memory_for_libarchive(std::string_view doing, std::string_view path) {
  constexpr size_t kMostBytes = size_t{1} << 20;
  const std::unique_ptr<void, decltype(&free_aligned)> room(allocate_aligned(64, kMostBytes),
                                                            &free_aligned);
  if (room) return {};
  return fail(Code::kNoMem, "no memory to ", doing, " ", path);
}

}  // namespace rill::nnef
