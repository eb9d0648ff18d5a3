#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "audit/draw.h"
#include "core/base/text.h"
#include "tests/property/texts.h"

namespace rill::test {

/// The most taps of a window, so that a run takes under a second.
inline constexpr int64_t kMostTaps = 48;
inline constexpr int64_t kMostConstant = 100000;

/// A wire [batch, channels, frames].
struct WideWire {
  std::string name;
  int64_t channels = 1;
};

class WideWriter {
 public:
  explicit WideWriter(uint64_t seed) : draw_(seed) {}

  WideWire start();
  WideWire link(const WideWire& x);
  void finish(const WideWire& x);
  void reseed(uint64_t seed) { draw_ = audit::Draw(seed); }
  std::string text() const;

 private:
  std::string put(const Statement& statement) {
    const std::string name = str_cat("v", count_++);
    text_ += str_cat("  ", name, " = ", statement.text, ";\n");
    return name;
  }
  WideWire same(const WideWire& x, const Statement& statement) {
    return {put(statement), x.channels};
  }
  void input(const std::string& name, const std::string& shape) {
    inputs_ += (inputs_.empty() ? "" : ", ") + name;
    externals_ +=
        str_cat("  ", name, " = tract_core_external(shape = [", shape, "], datum_type = 'f32');\n");
  }

  /// Draw a size: 0 to 4, or log-uniform up to 10^5.
  int64_t size() {
    if (draw_.chance(45)) return draw_.in(0, 4);
    return draw_.log_in(1, draw_.chance(40) ? kMostConstant : 500);
  }
  int64_t rate() { return draw_.chance(60) ? draw_.in(2, 3) : draw_.log_in(2, 24); }
  std::string number();
  std::string numbers(std::vector<int64_t> shape);
  std::string slice(const std::string& x, int64_t begin, const std::string& end);
  std::string from_end(int64_t frames) { return frames == 0 ? "0" : str_cat("-", frames); }
  std::string pad(const std::string& x, int64_t before, int64_t after, const std::string& border);
  std::string frames_of(const std::string& x);
  std::string static_input();
  std::string gru(const std::string& rows, int64_t channels, const std::string& output);

  WideWire conv(const WideWire& x);
  WideWire deconv(const WideWire& x);
  WideWire pool(const WideWire& x);
  WideWire trim(const WideWire& x);
  WideWire padded(const WideWire& x);
  WideWire branches(const WideWire& x);
  WideWire shifted(const WideWire& x);
  WideWire strided(const WideWire& x);
  WideWire joined(const WideWire& x);
  WideWire against_kept(const WideWire& x);
  WideWire running(const WideWire& x);
  WideWire resized(const WideWire& x);
  WideWire regrouped(const WideWire& x);
  WideWire by_position(const WideWire& x);
  WideWire with_static(const WideWire& x);
  WideWire with_stream(const WideWire& x);
  WideWire pointwise(const WideWire& x);
  WideWire last_state(const WideWire& x);
  WideWire attention(const WideWire& x);

  audit::Draw draw_;
  std::string inputs_;
  std::string externals_;
  std::string asserts_;
  std::string text_;
  std::string results_ = "y";
  int64_t batch_ = 1;
  int64_t times_ = 1;  ///< frames of x per unit of S
  int count_ = 0;
  int side_inputs_ = 0;
  std::vector<WideWire> wires_;
  std::vector<std::string> more_;  ///< outputs other than y
};

}  // namespace rill::test
