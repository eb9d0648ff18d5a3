#pragma once

#include <cstdint>
#include <vector>

#include "tests/property/generate.h"
#include "tests/session_fuzz/subject.h"

namespace rill::test {

/// Memory of a caller: frames in any order of axes, apart from each other, forwards or backwards,
/// in the middle of other bytes.
class Scattered {
 public:
  /// Room for frames as those of a port; `frames` along its axis, or its own where that is -1.
  Scattered(const Port& port, int64_t frames, Random* random);

  rill_view view();
  /// Write frames [first, first + count) of a row-major array along the port's axis to the start.
  void put(const Array& all, int64_t first, int64_t count);
  /// The first `count` frames, row-major. Takes them out: nothing but what was there at first is
  /// left.
  Array take(int64_t count);
  /// Return whether all bytes are as they were at first.
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
