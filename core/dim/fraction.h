#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace rill {

/// How the product of a size and a scale is rounded.
enum class Rounded : uint8_t { kDown, kAnyWay };

/// Find p and q so that n * scale, rounded to f32 and then to a whole number, is n * p / q, rounded
/// likewise: for sizes n below 2^23 / p, beyond which f32 drops parts of a frame. Nothing if there
/// are none.
std::optional<std::pair<int64_t, int64_t>> simple_fraction(float scale, Rounded how);

}  // namespace rill
