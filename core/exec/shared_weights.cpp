#include "core/exec/shared_weights.h"

#include <cstring>

namespace rill {
namespace {

/// Smaller constants are not worth a search.
constexpr int64_t kLeastBytes = int64_t{16} << 10;

}  // namespace

std::shared_ptr<const void> SharedWeights::find(const void* data, int64_t bytes) {
  if (bytes < kLeastBytes) return nullptr;
  const std::lock_guard lock(mutex_);
  auto [each, end] = by_size_.equal_range(bytes);
  while (each != end) {
    std::shared_ptr<const void> known = each->second.lock();
    if (!known) {
      each = by_size_.erase(each);
      continue;
    }
    if (std::memcmp(known.get(), data, static_cast<size_t>(bytes)) == 0) return known;
    ++each;
  }
  return nullptr;
}

void SharedWeights::add(const std::shared_ptr<const void>& data, int64_t bytes) {
  if (bytes < kLeastBytes) return;
  const std::lock_guard lock(mutex_);
  by_size_.emplace(bytes, data);
}

void SharedWeights::forget_freed() {
  const std::lock_guard lock(mutex_);
  std::erase_if(by_size_, [](const auto& each) { return each.second.expired(); });
}

}  // namespace rill
