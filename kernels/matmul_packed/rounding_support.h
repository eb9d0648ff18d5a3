#pragma once

// The quantized values of weights, by the definition in matmul_packed.h.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/matmul_packed/matmul_packed_args.h"

namespace rill::kernels {

/// Return the spacing of numbers with `bits` significant bits at `value`, which is not 0.
inline double spacing(double value, int bits) {
  return std::ldexp(1.0, std::ilogb(value) - (bits - 1));
}

inline float rounded_to_half(float value) {
  if (value == 0.0f) return value;
  const double step = std::max(spacing(value, 11), std::ldexp(1.0, -24));
  return static_cast<float>(std::nearbyint(value / step) * step);
}

/// Round a block of values with the given stride in place; return its scale.
inline float round_block(PackedFormat format, float* values, int64_t count, int64_t stride) {
  float farthest = 0.0f;
  for (int64_t i = 0; i < count; ++i) {
    const float value = values[i * stride];
    if (std::fabs(value) > std::fabs(farthest)) farthest = value;
  }
  double scale = 0.0;
  if (std::fabs(farthest) >= 0x1p-100f) {
    const float wanted =
        format == PackedFormat::kQ8 ? std::fabs(farthest) / 127.0f : farthest / -8.0f;
    const double step = spacing(wanted, 8), steps = wanted / step;
    scale = (format == PackedFormat::kQ8 ? std::ceil(steps) : std::nearbyint(steps)) * step;
  }
  const float lo = format == PackedFormat::kQ8 ? -127.0f : -8.0f;
  const float hi = format == PackedFormat::kQ8 ? 127.0f : 7.0f;
  for (int64_t i = 0; i < count; ++i) {
    float& value = values[i * stride];
    const float divided = scale == 0.0 ? 0.0f : value / static_cast<float>(scale);
    // Integers have no -0.
    const double steps = std::clamp(std::nearbyint(divided), lo, hi) + 0.0f;
    value = static_cast<float>(steps * scale);
  }
  return static_cast<float>(scale);
}

/// Round each of the columns of [k][n].
inline std::vector<float> rounded_columns(PackedFormat format, std::vector<float> values,
                                          int64_t k, int64_t n) {
  if (format == PackedFormat::kF16) {
    for (float& value : values) value = rounded_to_half(value);
    return values;
  }
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t p = 0; p < k; p += kPackedBlock) {
      round_block(format, values.data() + p * n + j, std::min(kPackedBlock, k - p), n);
    }
  }
  return values;
}

/// Integers and their scale.
struct Int8Values {
  std::vector<int64_t> values;
  float scale = 0;
};

/// Round finite floats to integers by one scale, by the definition of `QuantiseRow`.
inline Int8Values rounded_to_int8(const std::vector<float>& from) {
  float largest = kInt8LeastBound;
  for (const float value : from) largest = std::max(largest, std::fabs(value));
  const float steps = 127.0f / largest;
  Int8Values out;
  for (const float value : from) {
    const float scaled = value * steps;
    out.values.push_back(std::lrint(scaled));
  }
  out.scale = largest / 127.0f;
  return out;
}

/// Return the product of a row and a column of integers: an exact sum, then one rounding to f32 and
/// one for each multiplication.
inline float int8_product(const Int8Values& row, const Int8Values& column) {
  int64_t sum = 0;
  for (size_t i = 0; i < row.values.size(); ++i) sum += row.values[i] * column.values[i];
  const float scale = column.scale * row.scale;
  return static_cast<float>(sum) * scale;
}

/// Return column j of [k][n].
inline std::vector<float> column_of(const std::vector<float>& values, int64_t k, int64_t n,
                                    int64_t j) {
  std::vector<float> out;
  for (int64_t p = 0; p < k; ++p) out.push_back(values[static_cast<size_t>(p * n + j)]);
  return out;
}

}  // namespace rill::kernels
