#include "core/exec/weights.h"

#include <cstring>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace rill {
namespace {

// AddressSanitizer needs a separate allocation for each weight.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSeparate = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kSeparate = true;
#else
constexpr bool kSeparate = false;
#endif
#else
constexpr bool kSeparate = false;
#endif

constexpr int64_t kPage = int64_t{2} << 20;
constexpr int64_t kAlign = 64;

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

[[maybe_unused]] int64_t pages(int64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

#if defined(__linux__)
/// Map memory aligned to a huge page; return null on failure.
std::shared_ptr<std::byte> mapped(int64_t bytes) {
  const auto all = static_cast<size_t>(bytes + kPage);
  void* got = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED) return nullptr;
  const auto at = reinterpret_cast<uintptr_t>(got);
  const uintptr_t begin = (at + kPage - 1) / kPage * kPage;
  return {reinterpret_cast<std::byte*>(begin), [got, all](std::byte*) { munmap(got, all); }};
}
#endif

}  // namespace

Weights::Weights(int64_t expected) {
  // A half-empty page wastes memory, and weights of that size fit the cache anyway.
  if (kSeparate || expected < kPage * 5 / 8 || expected > (int64_t{1} << 40)) return;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  // Packing rounds columns up, so reserve a quarter more; untouched pages cost nothing.
  bytes_ = pages(expected + expected / 4);
  block_ = mapped(bytes_);
  if (!block_) {
    bytes_ = 0;
    return;
  }
  const int64_t large = (expected + kPage / 2) / kPage * kPage;
  madvise(block_.get(), static_cast<size_t>(large > 0 ? large : kPage), MADV_HUGEPAGE);
#endif
}

std::shared_ptr<void> Weights::take(int64_t bytes) {
  const int64_t rounded = aligned(bytes);
  if (bytes <= 0 || rounded > bytes_ - used_) return nullptr;
  std::byte* const at = block_.get() + used_;
  used_ += rounded;
  return {block_, at};
}

void Weights::give_back(const void* taken, int64_t bytes) {
  const int64_t rounded = aligned(bytes);
  if (!block_ || rounded > used_ || taken != block_.get() + used_ - rounded) return;
  used_ -= rounded;
  std::memset(block_.get() + used_, 0, static_cast<size_t>(rounded));
}

}  // namespace rill
