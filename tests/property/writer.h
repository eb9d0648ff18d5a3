#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "tests/property/generate.h"
#include "tests/property/texts.h"

namespace rill::test {

/// A wire [1, channels, frames], or [1, channels, frames, features].
struct Wire {
  std::string name;
  int64_t channels = 1;
  int64_t features = 0;  ///< 0: no such axis
};

/// Writes statements, and tracks the ratio of frames to input frames as a fraction.
class Writer {
 public:
  explicit Writer(uint64_t seed) : random_(seed) {}

  Wire start();
  Wire link(Wire x);
  Wire short_link(const Wire& x);
  Wire any_link(Wire x);
  Wire finish(Wire x);
  void reseed(uint64_t seed) { random_ = Random(seed); }
  /// Return the shape of the input.
  std::string shape() const { return shape_; }
  std::string statements() const { return text_; }
  std::string results() const { return results_; }
  int64_t unit() const { return unit_; }
  bool attends() const { return attends_; }

 private:
  std::string put(const Statement& statement) {
    const std::string name = str_cat("v", count_++);
    text_ += str_cat("  ", name, " = ", statement.text, ";\n");
    return name;
  }
  Wire same(const Wire& x, const Statement& statement) {
    return {put(statement), x.channels, x.features};
  }
  std::string number(int64_t thousandths_limit = 999);
  std::string numbers(std::vector<int64_t> shape);
  void scale(int64_t up, int64_t down);

  struct Shape {
    int64_t kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;
    int64_t extent() const { return (kernel - 1) * dilation + 1; }
  };
  std::string window(const Shape& s, bool pool, bool features) const;
  Shape any_window();
  Wire conv(const Wire& x, const Shape& s, int64_t outputs);
  Wire conv2d(const Wire& x, const Shape& s);
  Wire any_conv(const Wire& x);
  Wire deconv(const Wire& x, const Shape& s);
  Wire any_deconv(const Wire& x);
  Wire pool(const Wire& x);
  Wire slice(const Wire& x, int64_t begin, int64_t end);
  Wire pad(const Wire& x, int64_t before, int64_t after, const std::string& value);
  Wire any_pad(const Wire& x);
  Wire constant_frames(const Wire& x);
  Wire pointwise(const Wire& x);
  Wire combine(const Wire& a, const Wire& b);
  Wire keeps_length(const Wire& x);
  Wire residual(const Wire& x);
  Wire two_windows(const Wire& x);
  Wire two_shifts(const Wire& x);
  std::optional<int> rest_of_pairs(const Wire& x) const;
  Wire down_and_up(const Wire& x);
  Wire recurrent(const Wire& x);
  Wire merge_frames(const Wire& x);
  Wire split_frames(const Wire& x);
  Wire every_other(const Wire& x);
  Wire product(const Wire& x);
  Wire flat(const Wire& x);
  // In generate_kept.cpp: state beyond windows.
  Wire kept(const Wire& x);
  Wire repeated_edges(const Wire& x);
  Wire counted_average(const Wire& x);
  Wire against_first(const Wire& x);
  Wire first_prefixed(const Wire& x);
  Wire unlike_frames(const Wire& x);
  std::string length_of(const Wire& x);
  Wire numbered(const Wire& x);
  Wire by_position(const Wire& x);
  Wire shifted(const Wire& x);
  Wire rows_added(const Wire& x);
  Wire resampled(const Wire& x);
  Wire attention(const Wire& x);

  Random random_;
  std::string shape_;
  std::string text_;
  std::string results_ = "y";
  int count_ = 0;
  std::vector<std::string> wires_;  ///< the names of wires of frames, in order
  int64_t up_ = 1;
  int64_t down_ = 1;
  int64_t unit_ = 1;
  bool attends_ = false;   ///< whether there is attention: streams may round its sums otherwise
  bool infinite_ = false;  ///< whether a pool may see only padding: attention then gives NaN
};

}  // namespace rill::test
