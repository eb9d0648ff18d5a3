#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/tensor/tensor.h"

namespace rill::audit {

/// The largest allowed difference of a value from its reference.
struct Tolerance {
  std::string name = "Close";
  double absolute = 1e-7;
  double relative = 1e-7;
  double outliers = 0;  ///< share of the elements that may be further off
  bool custom = false;
};

/// Find a level by its name, "exact", "close", "approximate", ..., for elements of 32 bits; null if
/// there is none of that name.
std::optional<Tolerance> tolerance_named(std::string_view name);
std::string tolerance_names();
/// Return the same level for elements of 16 bits.
Tolerance for_half(const Tolerance& tolerance);

/// Compare a value to its reference. Return nothing if it is close enough, else the difference:
/// "Shape mismatch [..] != [..]" or "Mismatch. First outlier (...". Integers must be equal; against
/// floats they are compared by value. `cast_floats`: a reference of another float type is converted
/// first.
std::optional<std::string> mismatch(const Tensor& expected, const Tensor& got,
                                    const Tolerance& tolerance, bool cast_floats);

/// Return ", frame 7" for the first frame that differs; empty if none differs, or if `axis` is -1.
std::string first_bad_frame(int axis, const Tensor& want, const Tensor& got,
                            const Tolerance& tolerance);

}  // namespace rill::audit
