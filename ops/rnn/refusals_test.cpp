// Refusals of the gates and sequences of recurrent layers.

#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

const std::vector<Input> kInputs = {{"x", "1, 2, 4"}, {"m", "3, 4"}};

TEST(Recurrent, LstmEpilogueExpectsFourGates) {
  expect_load_error(kInputs, "(y, z) = tract_core_lstm_epilogue(x, m, hidden = 3);", Code::kShape,
                    "preact");
}

TEST(Recurrent, GruEpilogueExpectsAnExtentOfOneOrMore) {
  expect_load_error(kInputs, "y = tract_core_gru_epilogue(x, x, x, hidden = 0);", Code::kShape,
                    "hidden 0");
}

TEST(Recurrent, GruSequenceExpectsOneFrameAStep) {
  expect_load_error(
      kInputs, "(y, z) = tract_core_gru_seq(x = x, r = m, initial_h = m, hidden = 2, chunk = 2);",
      Code::kShape, "chunk of 1");
}

}  // namespace
}  // namespace rill::ops::test
