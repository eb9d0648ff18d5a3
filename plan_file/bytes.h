#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dim/dim.h"
#include "core/run/extent.h"

namespace rill::plan_file {

/// Appends numbers and texts to a record: whole numbers in groups of 7 bits, the lowest first, with
/// the sign in the lowest bit; other numbers as their bytes in reverse, read as a whole number.
class RecordWriter {
 public:
  void natural(uint64_t value);
  void number(int64_t value) {
    natural(static_cast<uint64_t>(value) << 1U ^ static_cast<uint64_t>(value >> 63));
  }
  void real(double value);
  void text(std::string_view value);
  void dim(const Dim& value);
  void raw(uint64_t value);
  void append(const RecordWriter& other);

  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads what may be anything. From the first failure on it gives zeros, and is not `good`.
class RecordReader {
 public:
  explicit RecordReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint64_t natural() {
    // Most are small: an empty list, an axis of extent 1, a flag.
    if (!bytes_.empty() && bytes_[0] < std::byte{0x80}) {
      const auto value = static_cast<uint64_t>(bytes_[0]);
      bytes_ = bytes_.subspan(1);
      return value;
    }
    return long_natural();
  }
  int64_t number() {
    const uint64_t value = natural();
    return static_cast<int64_t>(value >> 1U) ^ -static_cast<int64_t>(value & 1U);
  }
  /// A number in a range, ends included.
  int64_t number(int64_t least, int64_t most);
  double real();
  std::string_view text();
  Dim dim();
  /// An expression of one symbol, in the form in which plans work it out.
  Extent extent();
  uint64_t raw();
  /// How many things follow, each of a byte at least.
  int64_t count(int64_t most = INT64_MAX);

  bool good() const { return why_ == nullptr; }
  void fail(const char* why) {
    if (why_ == nullptr) why_ = why;
    bytes_ = {};
  }
  const char* why() const { return why_; }
  size_t left() const { return bytes_.size(); }

 private:
  uint64_t long_natural();

  std::span<const std::byte> bytes_;
  const char* why_ = nullptr;
};

/// A sum over bytes that changes where any of them does, most likely.
uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace rill::plan_file
