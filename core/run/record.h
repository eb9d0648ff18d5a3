#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace rill {

/// Reads untrusted records of plan files (docs/plan-files.md). After the first failure, it returns
/// zeros, and `good` is false. Does not use the heap.
class Record {
 public:
  explicit Record(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint64_t natural() {
    // Fast path: most numbers are small, such as an empty list, an extent of 1 or a flag.
    if (!bytes_.empty() && bytes_.front() < std::byte{0x80}) {
      const auto value = static_cast<uint64_t>(bytes_.front());
      bytes_ = bytes_.subspan(1);
      return value;
    }
    return long_natural();
  }
  int64_t number() {
    const uint64_t value = natural();
    return static_cast<int64_t>(value >> 1U) ^ -static_cast<int64_t>(value & 1U);
  }
  /// Read a number in a range, ends included. `field` is its name, with static lifetime.
  int64_t number(int64_t least, int64_t most, const char* field = nullptr);
  double real();
  std::string_view text();
  uint64_t raw();
  /// Read the number of records that follow, which have at least one byte each.
  int64_t count(int64_t most = INT64_MAX);

  bool good() const { return why_ == nullptr; }
  void fail(const char* why, const char* field = nullptr) {
    if (why_ == nullptr) {
      why_ = why;
      field_ = field;
    }
    bytes_ = {};
  }
  const char* why() const { return why_; }
  /// Return the name of the invalid field; null if it has no name, or if another failure occurred.
  const char* field() const { return field_; }
  size_t left() const { return bytes_.size(); }

 private:
  uint64_t long_natural();

  std::span<const std::byte> bytes_;
  const char* why_ = nullptr;
  const char* field_ = nullptr;
};

}  // namespace rill
