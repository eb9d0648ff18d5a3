#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string_view>

#include "core/dim/quotient.h"
#include "ops/nn/resample.h"

namespace rill::ops {

inline float cubic(float distance, float a) {
  const float s = std::abs(distance);
  if (s <= 1.0F) return (a + 2.0F) * s * s * s - (a + 3.0F) * s * s + 1.0F;
  if (s <= 2.0F) return a * s * s * s - 5.0F * a * s * s + 8.0F * a * s - 4.0F * a;
  return 0.0F;
}

/// The taps of one output element: inputs `first + k`, for k < count, with their weights.
///
/// A coordinate is an exact fraction if the scale is a fraction, either given or as a ratio of
/// extents: 13/2 is then a tie, which a float quotient may miss. With other scales, a coordinate is
/// a float.
class Taps {
 public:
  Taps(const ResizeAxis& op, int64_t from, int64_t to)
      : op_(op),
        coord_(coord_of(op.coord)),
        nearest_(nearest_of(op.nearest)),
        is_nearest_(op.is_nearest()),
        is_cubic_(op.interpolator == "cubic"),
        from_(from),
        to_(to) {
    scale_ = op.scale != 0.0F ? op.scale : static_cast<float>(to) / static_cast<float>(from);
    // A single output of several inputs is at input 0; a single input is copied to all outputs.
    one_sample_ = coord_ == Coord::kPytorch && to <= 1 && from > 1;
    if (op.is_centered()) coord_ = Coord::kHalfPixel;
    const bool has_ratio = op.scale == 0.0F || op.is_local() || coord_ == Coord::kSymmetric;
    if (coord_ != Coord::kCrop && has_ratio) exact_ = exact_ratio();
    if (op.is_local() && !one_sample_) ratio_of_scale_ = is_exact() ? exact_ : ratio(scale_);
    const int64_t support = is_cubic_ ? 2 : 1;
    count_ = 2 * support;
    if (op.antialias && scale_ < 1.0F && !is_nearest_) {
      const float reach = std::floor(static_cast<float>(-support) / scale_);
      count_ =
          -2 * (is_exact() ? floored_quotient(-support * exact_.down, exact_.up) : place_of(reach));
    }
    stretch_ = op.antialias ? std::min(scale_, 1.0F) : 1.0F;
  }

  /// A scale of `up` outputs for `down` inputs, whose weights repeat; zeros if the scale is not
  /// such a ratio.
  struct Ratio {
    int64_t up = 0;
    int64_t down = 0;
  };

  static Ratio ratio(float scale) {
    if (const int64_t up = whole(scale); up > 0) return {up, 1};
    if (const int64_t down = whole(1.0F / scale); down > 0) return {1, down};
    constexpr int64_t kMostDown = 64;
    for (int64_t down = 2; down <= kMostDown; ++down) {
      const float up = std::round(scale * static_cast<float>(down));
      if (up < 1.0F || up > 4096.0F || up / static_cast<float>(down) != scale) continue;
      return {static_cast<int64_t>(up), down};
    }
    return {};
  }

  int64_t count() const { return count_; }

  /// Move to an output element; false if it lies outside of the input.
  bool move_to(int64_t x) {
    // If weights repeat, compute them within the first period: they are equal bit for bit then.
    const auto [up, down] = ratio_of_scale_;
    const int64_t base = up > 0 ? x / up * down : 0;
    const int64_t place = up > 0 ? x % up : x;
    if (is_exact()) {
      move_to_fraction(exact_coordinate(place), base);
    } else if (!move_to_float(coordinate(static_cast<float>(place)), base)) {
      return false;
    }
    sum_ = 1.0F;
    if (stretch_ != 1.0F && !is_nearest_) sum_ = total([](float w) { return w; });
    kept_ = 1.0F;
    if (!op_.exclude_outside) return true;
    kept_ = 0.0F;
    for (int64_t k = 0; k < count_; ++k) {
      if (first_ + k >= 0 && first_ + k < from_) kept_ += kernel(k) / sum_;
    }
    if (kept_ == 0.0F) kept_ = 1.0F;
    return true;
  }

  /// Return the position of tap k, which may be outside of the input.
  int64_t tap(int64_t k) const { return first_ + k; }
  int64_t index(int64_t k) const { return std::clamp<int64_t>(first_ + k, 0, from_ - 1); }

  float weight(int64_t k) const {
    if (!op_.exclude_outside) return kernel(k) / sum_;
    return first_ + k >= 0 && first_ + k < from_ ? kernel(k) / sum_ / kept_ : 0.0F;
  }

 private:
  // Names are parsed once, not for every element.
  enum class Coord { kHalfPixel, kAsymmetric, kNearest, kPytorch, kAligned, kCrop, kSymmetric };
  enum class Nearest { kFloor, kCeil, kPreferFloor, kPreferCeil };

  static Coord coord_of(std::string_view name) {
    if (name == "asymmetric") return Coord::kAsymmetric;
    if (name == "tf_half_pixel_for_nn") return Coord::kNearest;
    if (name == "pytorch_half_pixel") return Coord::kPytorch;
    if (name == "align_corners") return Coord::kAligned;
    if (name == "tf_crop_and_resize") return Coord::kCrop;
    return name == "half_pixel_symmetric" ? Coord::kSymmetric : Coord::kHalfPixel;
  }
  static Nearest nearest_of(std::string_view name) {
    if (name == "ceil") return Nearest::kCeil;
    if (name == "round_prefer_floor") return Nearest::kPreferFloor;
    return name == "round_prefer_ceil" ? Nearest::kPreferCeil : Nearest::kFloor;
  }

  /// Return a position as an integer; 0 for positions beyond any axis.
  static int64_t place_of(float at) { return std::abs(at) < 1e15F ? static_cast<int64_t>(at) : 0; }
  /// Return a scale as a whole number; 0 if it is not one.
  static int64_t whole(float scale) {
    const bool is_whole = scale >= 1.0F && scale <= 4096.0F && std::round(scale) == scale;
    return is_whole ? static_cast<int64_t>(scale) : 0;
  }

  template <class Of>
  float total(const Of& of) const {
    float sum = 0.0F;
    for (int64_t k = 0; k < count_; ++k) sum += of(kernel(k));
    return sum;
  }

  struct Fraction {
    int64_t number = 0;
    int64_t divisor = 1;
  };

  bool is_exact() const { return exact_.up > 0; }

  /// Return the scale as an exact ratio of integers; 0 if there is none, or a large one.
  Ratio exact_ratio() const {
    constexpr int64_t kMostExtent = int64_t{1} << 30;  // products stay within 64 bits
    if (op_.scale != 0.0F) {
      const Ratio given = ratio(op_.scale);
      const bool rounds = given.up == 0 || (given.down & (given.down - 1)) != 0;
      const bool is_long = coord_ == Coord::kSymmetric && std::max(from_, to_) > kMostExtent;
      return rounds || is_long ? Ratio() : given;
    }
    if (from_ < 1 || to_ < 1 || from_ > kMostExtent || to_ > kMostExtent) return {};
    const int64_t common = std::gcd(from_, to_);
    return {to_ / common, from_ / common};
  }

  /// Return the coordinate of an output element in the input, as `coordinate` but as a fraction.
  Fraction exact_coordinate(int64_t x) const {
    if (from_ == to_ && scale_ == 1.0F) return {x, 1};
    if (one_sample_) return {0, 1};
    if (coord_ == Coord::kAligned) {
      return to_ == 1 ? Fraction() : Fraction{x * (from_ - 1), to_ - 1};
    }
    const auto [up, down] = exact_;
    if (coord_ == Coord::kAsymmetric) return {x * down, up};
    if (coord_ == Coord::kNearest) return {(2 * x + 1) * down, 2 * up};
    if (coord_ == Coord::kSymmetric) {
      return {from_ * up - to_ * down + (2 * x + 1) * down - up, 2 * up};
    }
    return {(2 * x + 1) * down - up, 2 * up};
  }

  void move_to_fraction(Fraction at, int64_t base) {
    const int64_t cell = floored_quotient(at.number - 1, at.divisor);
    const int64_t rest = at.number - cell * at.divisor;
    ratio_ = static_cast<float>(static_cast<double>(rest) / static_cast<double>(at.divisor));
    side_ = 2 * rest - at.divisor;
    is_next_ = rest == at.divisor;
    first_ = base + cell + 1 - count_ / 2;
  }

  bool move_to_float(float at, int64_t base) {
    const bool inside = at >= 0.0F && at <= static_cast<float>(from_) - 1.0F;
    if (coord_ == Coord::kCrop && !inside) return false;
    const float cell = std::ceil(at) - 1.0F;
    ratio_ = at - cell;
    side_ = ratio_ < 0.5F ? -1 : ratio_ > 0.5F ? 1 : 0;
    is_next_ = ratio_ == 1.0F;
    first_ = base + place_of(cell) + 1 - count_ / 2;
    return true;
  }

  float coordinate(float x) const {
    // An axis whose extent does not change is copied in all modes.
    if (coord_ != Coord::kCrop && from_ == to_ && scale_ == 1.0F) return x;
    const auto in = static_cast<float>(from_);
    if (coord_ == Coord::kAsymmetric) return x / scale_;
    if (coord_ == Coord::kNearest) return (x + 0.5F) / scale_;
    if (one_sample_) return 0.0F;
    // Use the extent itself: multiplying the scale back would round once more.
    const float width = op_.scale > 0.0F ? scale_ * in : static_cast<float>(to_);
    if (coord_ == Coord::kAligned) return width == 1.0F ? 0.0F : x * (in - 1.0F) / (width - 1.0F);
    if (coord_ == Coord::kCrop) {
      const float last = in - 1.0F;
      const float span = last * (op_.roi_end - op_.roi_begin);
      const float offset = width == 1.0F ? span / 2.0F : x * span / (width - 1.0F);
      return offset + op_.roi_begin * last;
    }
    const float center = (x + 0.5F) / scale_ - 0.5F;
    if (coord_ != Coord::kSymmetric) return center;
    return in / 2.0F * (1.0F - static_cast<float>(to_) / width) + (x + 0.5F) / scale_ - 0.5F;
  }

  float kernel(int64_t k) const {
    if (is_nearest_) return static_cast<float>(right() == (k == 1));
    const float offset = 1.0F - static_cast<float>(count_ / 2) + static_cast<float>(k) - ratio_;
    const float distance = offset * stretch_;
    if (is_cubic_) return cubic(distance, op_.cubic_a);
    return std::clamp(1.0F - std::abs(distance), 0.0F, 1.0F);
  }

  /// Return whether the right neighbour is the nearest.
  bool right() const {
    if (is_next_ || nearest_ == Nearest::kCeil) return true;
    if (nearest_ == Nearest::kPreferFloor) return side_ > 0;
    return nearest_ == Nearest::kPreferCeil && side_ >= 0;
  }

  const ResizeAxis& op_;
  Coord coord_;
  Nearest nearest_;
  bool is_nearest_;
  bool is_cubic_;
  int64_t from_;
  int64_t to_;
  int64_t count_ = 2;
  int64_t first_ = 0;
  Ratio ratio_of_scale_;  ///< the period of the weights; zeros if they do not repeat
  float scale_ = 1.0F;
  float stretch_ = 1.0F;
  Ratio exact_;         ///< the scale, if coordinates are computed as fractions
  float ratio_ = 0.0F;  ///< from the neighbour on the left to the coordinate
  int64_t side_ = 0;    ///< the sign of `ratio_` - 1/2
  bool one_sample_ = false;
  bool is_next_ = false;  ///< the coordinate is the neighbour on the right
  float sum_ = 1.0F;
  float kept_ = 1.0F;
};

}  // namespace rill::ops
