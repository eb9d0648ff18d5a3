#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/run/feed.h"

namespace rill {

/// Round up to the 8-byte alignment of all parts of a saved state.
constexpr int64_t padded(int64_t bytes) { return (bytes + 7) / 8 * 8; }

/// Appends to memory that may be too small; with empty memory, only counts bytes.
class StateWriter {
 public:
  explicit StateWriter(std::span<std::byte> to) : to_(to) {}

  int64_t at() const { return at_; }
  bool fits() const { return at_ <= static_cast<int64_t>(to_.size()); }
  /// Reserve `bytes` bytes, padded with zeros; return null if they do not fit.
  std::byte* take(int64_t bytes) {
    const int64_t begin = at_;
    at_ += padded(bytes);
    if (!fits()) return nullptr;
    if (at_ > begin) std::memset(to_.data() + at_ - 8, 0, 8);
    return to_.data() + begin;
  }
  void number(int64_t value) { copy(&value, sizeof value); }
  void copy(const void* from, int64_t bytes) {
    if (std::byte* to = take(bytes); to && bytes > 0) {
      std::memcpy(to, from, static_cast<size_t>(bytes));
    }
  }
  /// Append the frames of a view in order.
  void frames(const View& view, int axis) {
    std::byte* to = take(view.extent(axis) * frame_bytes(view, axis));
    if (to) copy_view(view, frame_rows(view, axis, view.extent(axis), to));
  }

 private:
  std::span<std::byte> to_;
  int64_t at_ = 0;
};

/// Reads untrusted bytes: checks every count against the remaining size.
class StateReader {
 public:
  explicit StateReader(std::span<const std::byte> from) : from_(from) {}

  /// Return the next bytes; null after the first failure.
  const std::byte* take(int64_t bytes) {
    const auto left = static_cast<int64_t>(from_.size()) - at_;
    if (!good_ || bytes < 0 || bytes > left || padded(bytes) > left) {
      good_ = false;
      return nullptr;
    }
    const std::byte* begin = from_.data() + at_;
    at_ += padded(bytes);
    return begin;
  }
  int64_t number() {
    int64_t value = 0;
    const std::byte* from = take(sizeof value);
    if (from) std::memcpy(&value, from, sizeof value);
    return value;
  }
  bool good() const { return good_; }
  bool at_end() const { return at_ == static_cast<int64_t>(from_.size()); }

 private:
  std::span<const std::byte> from_;
  int64_t at_ = 0;
  bool good_ = true;
};

}  // namespace rill
