#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rill/rill.h"

namespace rill::test {

/// A row-major array, independent of the library under test.
struct Array {
  rill_dtype dtype = RILL_F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  static Array zeros(rill_dtype dtype, std::vector<int64_t> shape);
  /// Noise in [-1, 1), the same for the same seed.
  static Array noise(std::vector<int64_t> shape, uint32_t seed);

  int64_t volume() const;
  rill_view view() const;
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
  /// Return indices [first, first + count) of an axis; indices past the end give NaN, or 0 for
  /// integers.
  Array part(int axis, int64_t first, int64_t count) const;
  /// Append along an axis.
  void append(const Array& more, int axis);
};

using Arrays = std::map<std::string, Array>;

/// Read the arrays of an npz file; the test ends if it cannot be read.
Arrays read_bundle(const std::string& path);

/// Return the first difference, or "" if there is none: floats by
/// |found - want| <= atol + rtol * |want|, NaN equal to NaN; integers exactly.
std::string difference(const Array& found, const Array& want, double atol, double rtol);
/// As above, bit for bit.
std::string bit_difference(const Array& found, const Array& want);

}  // namespace rill::test
