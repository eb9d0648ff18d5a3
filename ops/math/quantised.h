#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/tensor/tensor.h"

namespace rill::ops {

/// Read an element of a quantised view as a real number.
inline double real_at(const View& view, int64_t at) {
  int64_t raw = 0;
  if (view.dtype == DType::kQU8) {
    raw = view.as<const uint8_t>()[at];
  } else if (view.dtype == DType::kQI8) {
    raw = view.as<const int8_t>()[at];
  } else {
    raw = view.as<const int32_t>()[at];
  }
  return static_cast<double>(raw - view.q.zero_point) * static_cast<double>(view.q.scale);
}

/// Store a real number, rounded half to even and clamped; NaN stores 0.
inline void store_real(const View& view, int64_t at, double real) {
  const double raw = std::nearbyint(real / static_cast<double>(view.q.scale) +
                                    static_cast<double>(view.q.zero_point));
  const double safe = std::isnan(raw) ? 0.0 : raw;
  if (view.dtype == DType::kQU8) {
    view.as<uint8_t>()[at] = static_cast<uint8_t>(std::clamp(safe, 0.0, 255.0));
  } else if (view.dtype == DType::kQI8) {
    view.as<int8_t>()[at] = static_cast<int8_t>(std::clamp(safe, -128.0, 127.0));
  } else {
    view.as<int32_t>()[at] = static_cast<int32_t>(std::clamp(safe, -2147483648.0, 2147483647.0));
  }
}

}  // namespace rill::ops
