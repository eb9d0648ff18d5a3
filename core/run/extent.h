#pragma once

#include <cstdint>
#include <optional>

#include "core/base/list.h"
#include "core/base/nonblocking.h"

namespace rill {

/// A compiled integer expression in the stream symbol, in postfix order: `Dim` without names, heap
/// and limits.
class Extent {
 public:
  /// An operation on the numbers at the top of the stack; its result replaces them.
  enum class Do : int64_t { kNumber, kSymbol, kAdd, kMul, kDiv, kMin, kMax, kBroadcast, kGe, kEq };
  struct Part {
    Do what = Do::kNumber;
    int64_t number = 0;  ///< the number itself, or the divisor
  };
  /// The maximum stack depth.
  static constexpr int kMostWaiting = 64;

  /// Make an unknown extent.
  Extent() = default;
  explicit Extent(List<Part> parts) : parts_(std::move(parts)) {}

  bool valid() const RILL_NONBLOCKING { return !parts_.empty(); }
  bool is_const() const RILL_NONBLOCKING;
  /// Evaluate for a value of the symbol. Nothing if the extent is unknown, a required value is
  /// missing, the result overflows, or the extents of a broadcast do not match.
  std::optional<int64_t> at(std::optional<int64_t> symbol) const RILL_NONBLOCKING;
  /// Return whether `at` may be called: parts that were read from a file may be invalid.
  bool sound() const RILL_NONBLOCKING;

  List<Part>& parts() { return parts_; }
  const List<Part>& parts() const { return parts_; }

 private:
  List<Part> parts_;
};

}  // namespace rill
