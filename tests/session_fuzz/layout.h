#pragma once

#include <cstdint>
#include <vector>

#include "tests/property/generate.h"
#include "tests/session_fuzz/subject.h"

namespace rill::test {

/// A caller's memory for frames: axes in any order, with gaps, forwards or backwards, inside a
/// block of other bytes.
class Scattered {
 public:
  /// Allocate memory for frames of a port: `frames` along its axis, or the port's own extent for
  /// -1.
  Scattered(const Port& port, int64_t frames, Random* random);

  rill_view view();
  /// Write frames [first, first + count) of a row-major array along the port's axis to the start.
  void put(const Array& all, int64_t first, int64_t count);
  /// Return the first `count` frames, row-major, and restore the original bytes in their place.
  Array take(int64_t count);
  /// Return whether all bytes have their original values.
  bool is_untouched() const;

 private:
  template <class Each>
  void walk(int64_t count, const Each& each) const;

  rill_dtype dtype_;
  int axis_;
  size_t element_;
  std::vector<int64_t> shape_;
  std::vector<int64_t> strides_;
  int64_t offset_ = 0;  ///< elements
  std::vector<std::byte> bytes_;
};

}  // namespace rill::test
