#pragma once

#include <string>
#include <vector>

#include "tests/property/streaming.h"

// Graphs of one or two statements, with the expected delay, pulse and length of their streams.

namespace rill::test {

struct Expected {
  std::vector<int64_t> pulses;
  int64_t up = 1;  ///< frames per step of the output: pulse * up / down
  int64_t down = 1;
  int64_t delay = 0;
  std::string length;
  int64_t least = -1;  ///< the proven bound, if it is below the delay
};

struct Window {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;
  int64_t after = 0;
};

/// Statements on wires [1, 1, frames].
std::string conv(const std::string& x, const Window& w);
std::string pool(const std::string& op, const Window& w, const std::string& border = "ignore",
                 const std::string& x = "x");
std::string pad(const std::string& x, int64_t before, int64_t after, const std::string& value,
                const std::string& border = "constant");
std::string slice(const std::string& x, int64_t begin, int64_t end);
/// Return N weights, each inexact in binary.
std::string weights(int64_t n);
/// A document over x [1, 1, S] that outputs y.
std::string y(const std::string& expression);

Graph loaded(const std::string& text);
/// Compare streams of every length up to a little over three pulses; bit for bit without a
/// tolerance.
void expect_frames(const std::string& text, int64_t pulse, double tolerance = 0);
/// Check pulse, delay and length, and prove that no stream at this pulse has less delay.
void expect_shape(const std::string& text, const Expected& expected, size_t output = 0);
/// Check frames and shape, also after writing and reading back the pulsed graph.
void expect_streams(const std::string& text, const Expected& expected, double tolerance = 0);
/// Move states between these pulses at many positions of many streams.
void expect_journeys(const std::string& text, const std::vector<int64_t>& pulses,
                     double tolerance = 0);
/// Fail unless the graph is refused with a message that names node, operator, cause and remedy.
void expect_refused(const std::string& text, int64_t pulse, const std::string& node,
                    const std::string& op);

}  // namespace rill::test
