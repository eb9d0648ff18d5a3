// Masks of attention that frameworks make of the positions of packed sequences.

#include <gtest/gtest.h>

#include <string>

#include "tests/property/pulse_cases.h"

namespace rill::test {
namespace {

constexpr double kTolerance = 2e-6;

/// Return statements that number the sequence of each position: a new sequence begins where a
/// position does not follow the previous one, or `first`.
std::string sequences(const std::string& first) {
  const std::string begin = "], end = [";
  const std::string cut = "slice(all, axes = [0], begin = [";
  return "  all = concat([" + first + ", n], axis = 0);\n  step = " + cut + "1" + begin + "0]) - " +
         cut + "0" + begin + "S]);\n  begins = tract_core_cast(ne(step, 1), to = 'i64');\n"
         "  part = tract_core_cumsum(begins, axis = 0, exclusive = false, reverse = false);\n";
}

/// Self-attention of x [1, S, 4] to the four last positions of the same sequence.
std::string attention(const std::string& first) {
  return document("1, S, 4",
                  "  n = tract_core_range(0, S, 1);\n" + sequences(first) +
                      "  apart = unsqueeze(n, axes = [0, 2]) - unsqueeze(n, axes = [0, 1]);\n"
                      "  same = unsqueeze(part, axes = [0, 2]) == unsqueeze(part, axes = [0, 1]);\n"
                      "  seen = (apart >= 0) && (apart <= 3) && same;\n"
                      "  scores = matmul(x * 0.7, x * 0.3, transposeB = true);\n"
                      "  m = select(seen, scores, (0.0 - 1.0 / 0.0));\n"
                      "  y = matmul(softmax(m, axes = [2]), x + 0.25);\n");
}

TEST(PulseCases, AttentionWithinOneSequenceOfPositions) {
  const std::string before = "slice(n, axes = [0], begin = [0], end = [1]) - 1";
  expect_streams(attention(before), {{1, 4}, 1, 1, 0, "S"}, kTolerance);
  expect_streams(attention("tract_core_cast([-1], to = 'i64')"), {{1, 4}, 1, 1, 0, "S"},
                 kTolerance);
}

}  // namespace
}  // namespace rill::test
