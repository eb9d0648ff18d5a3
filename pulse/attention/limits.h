#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/positions/square.h"

namespace rill::pulse {

/// A score of this or less has no weight: its exponential vanishes next to any other.
constexpr double kHiddenScore = -1e4;

/// A condition on a wire; the key is visible only where it holds.
struct Limit {
  enum class Kind : uint8_t { kTrue, kFalse, kHigh, kLow, kNotInfinite, kNotZero };
  OutletId wire;
  Square at;
  Kind kind = Kind::kTrue;
  bool finite = false;  ///< hidden keys get a finite number, which leaves weight if all keys get it
  double scale = 1;     ///< factor of scores downstream
  bool large = false;   ///< it is made with numbers that hide keys

  bool lets(double value) const {
    switch (kind) {
      case Kind::kTrue:
        return value != 0.0;
      case Kind::kFalse:
        return value == 0.0;
      case Kind::kHigh:
        return value * scale > kHiddenScore;
      case Kind::kLow:
        return value * scale < -kHiddenScore;
      case Kind::kNotInfinite:
        return !std::isinf(value) || value > 0;
      case Kind::kNotZero:
        return value != 0.0;
    }
    return true;
  }
  /// Return the number with which `lets` compares values; infinite if there is none.
  double threshold() const {
    switch (kind) {
      case Kind::kHigh:
        return kHiddenScore / scale;
      case Kind::kLow:
        return -kHiddenScore / scale;
      case Kind::kNotInfinite:
        return -std::numeric_limits<double>::infinity();
      default:
        return 0.0;
    }
  }
  /// Return whether it is a bias of scores, which hides nothing.
  bool is_bias() const { return !large && (kind == Kind::kHigh || kind == Kind::kLow); }
  /// Return whether it overwrites hidden scores with a number, whatever they were.
  bool replaces() const { return kind == Kind::kTrue || kind == Kind::kFalse; }
};

/// The limits on one path from the use of the weights, or from a softmax, up to the scores.
struct Limits {
  std::vector<Limit> all;      ///< the outermost first
  std::vector<Limit> after_softmax;  ///< limits that remove the weight again after the softmax
  std::optional<double> weak;  ///< a number meant to hide keys that leaves them some weight
  bool by_frames = false;      ///< values of frames hide keys as well
  std::optional<int> softmax;  ///< the node that normalises over the keys which these let through
};

/// Return whether a tensor holds a number that hides keys, added to scores or put in their place.
bool hides_somewhere(const Tensor& tensor);

/// Collect the limits of each term of the weights and of each softmax. A key matters if the limits
/// of one of these show it. `used`: the operand of the product with the values; `large`: inputs
/// that may hold numbers which hide keys.
std::vector<Limits> limits_of(const Graph& graph, std::span<const OutletId> large, OutletId used,
                              Square at, std::string_view symbol);

}  // namespace rill::pulse
