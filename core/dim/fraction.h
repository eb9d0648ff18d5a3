#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace rill {

/// How the product of a size and a scale is rounded to an integer.
enum class Rounded : uint8_t { kDown, kAny };

/// Find p and q such that n * scale, rounded to f32 and then to an integer, equals n * p / q with
/// the same rounding. This holds for sizes n below 2^23 / p; f32 cannot represent fractions of
/// larger sizes. Nothing if no such p and q exist.
std::optional<std::pair<int64_t, int64_t>> simple_fraction(float scale, Rounded how);

}  // namespace rill
