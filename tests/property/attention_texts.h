#pragma once

// Attention of worked cases, as NNEF text.

#include <string>

#include "core/base/text.h"
#include "tests/property/pulse_cases.h"

namespace rill::test {

/// The whole run sums over all keys, and the stream over the visible keys plus some of weight 0.
/// The order of the sums differs, and so may their last bits.
inline constexpr double kTolerance = 2e-6;

/// Self-attention of x [1, S, 4]: `mask` makes `m` from `scores` and positions `n`.
inline std::string attention(const std::string& mask, const std::string& x = "x") {
  return document("1, S, 4",
                  "  n = tract_core_range(0, S, 1);\n"
                  "  row = unsqueeze(n, axes = [0, 2]);\n  column = unsqueeze(n, axes = [0, 1]);\n"
                  "  z = " +
                      x +
                      ";\n"
                      "  q = z * 0.7;\n  k = z * [[[0.3, -0.2, 0.5, 0.9]]];\n  v = z + 0.25;\n"
                      "  scores = matmul(q, k, transposeB = true);\n" +
                      mask + "  y = matmul(softmax(m, axes = [2]), v);\n");
}

/// A mask of chunks of `size` frames: each query sees its own chunk, `left` earlier and `right`
/// later ones.
inline std::string chunks(int size, int left, int right) {
  return str_cat("  apart = row / ", size, " - column / ", size, ";\n  m = select((apart <= ", left,
                 ") && (apart >= ", -right, "), scores, -infinity);\n");
}

inline std::string with_infinity(std::string text) {
  for (size_t at = text.find("-infinity"); at != std::string::npos; at = text.find("-infinity")) {
    text.replace(at, 9, "(0.0 - 1.0 / 0.0)");
  }
  return text;
}

inline void expect_attends(const std::string& text, const Expected& expected) {
  expect_streams(with_infinity(text), expected, kTolerance);
}

}  // namespace rill::test
