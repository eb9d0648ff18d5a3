// Lengths of sequences in ONNX's recurrent layers and in ReverseSequence: those of the axis run,
// others are refused, as in ONNX Runtime.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "onnx_loader/test_file.h"
#include "tests/support/runs.h"

namespace rill::test {
namespace {

constexpr int64_t kFrames = 4;
constexpr int64_t kInt32 = 6;
constexpr int64_t kInt64 = 7;

/// A layer over x [4, 2, 3] with `lens` [2], a direct input or cast from the floats of one. An open
/// model has S frames.
struct LengthsCase {
  const char* op;
  int64_t gates;  ///< 0: ReverseSequence
};

std::string model_of(const LengthsCase& each, bool computed, bool open) {
  onnx::GraphParts parts;
  parts.inputs = {open ? onnx::value_info("x", {-1, 2, 3}, {"S"})
                       : onnx::value_info("x", {kFrames, 2, 3})};
  parts.outputs = {onnx::value_info("y", {-1, -1, -1, -1})};
  const int64_t type = each.gates > 0 ? kInt32 : kInt64;
  if (computed) {
    parts.inputs.push_back(onnx::value_info("given", {2}));
    parts.nodes.push_back(
        onnx::node_of("Cast", {"given"}, {"lens"}, {onnx::integer_attribute("to", type)}));
  } else {
    parts.inputs.push_back(onnx::value_info("lens", {2}, {}, type));
  }
  if (each.gates == 0) {
    parts.outputs = {onnx::value_info("y", {-1, -1, -1})};
    parts.nodes.push_back(onnx::node_of("ReverseSequence", {"x", "lens"}, {"y"}));
  } else {
    const auto weights = [&](const char* name, int64_t columns) {
      const auto count = static_cast<size_t>(2 * each.gates * columns);
      return onnx::tensor_of_floats(name, {1, 2 * each.gates, columns},
                                    std::vector<float>(count, 0.25F));
    };
    parts.initializers = {weights("w", 3), weights("r", 2)};
    parts.nodes.push_back(onnx::node_of(each.op, {"x", "w", "r", "", "lens"}, {"y"},
                                        {onnx::integer_attribute("hidden_size", 2)}));
  }
  return onnx::model_of(parts, 14).bytes();
}

ModelPtr loaded(const std::string& bytes) {
  rill_model* model = nullptr;
  EXPECT_EQ(rill_load_memory(bytes.data(), bytes.size(), nullptr, &model), RILL_OK)
      << rill_last_error();
  return ModelPtr(model);
}

/// Write lengths to input 1, and step.
template <class T>
rill_status step(const Opened& opened, std::vector<T> lengths) {
  rill_view view = {};
  view.size = sizeof view;
  EXPECT_EQ(rill_input_buffer(opened.session.get(), 1, &view), RILL_OK) << rill_last_error();
  std::memcpy(view.data, lengths.data(), sizeof(T) * lengths.size());
  return rill_step(opened.session.get());
}

class SequenceLengths : public ::testing::TestWithParam<LengthsCase> {
 protected:
  static rill_status given(const Opened& opened, int64_t length) {
    if (GetParam().gates == 0) return step<int64_t>(opened, {kFrames, length});
    return step<int32_t>(opened, {static_cast<int32_t>(kFrames), static_cast<int32_t>(length)});
  }
};

void expect_refused(rill_status status, int64_t length) {
  EXPECT_EQ(status, RILL_E_ARG) << length;
  const std::string error = rill_last_error();
  EXPECT_NE(error.find("the length " + std::to_string(length) + " at element 1"),
            std::string::npos)
      << error;
}

TEST_P(SequenceLengths, OfAnInputAreThoseOfItsFrames) {
  const ModelPtr model = loaded(model_of(GetParam(), false, false));
  ASSERT_NE(model, nullptr);
  const Opened opened = open_session(model.get());
  ASSERT_NE(opened.session, nullptr) << rill_last_error();
  for (int64_t length = 0; length <= kFrames; ++length) {
    EXPECT_EQ(given(opened, length), RILL_OK) << rill_last_error();
  }
  for (const int64_t length : {int64_t{-1}, kFrames + 1}) {
    expect_refused(given(opened, length), length);
    EXPECT_NE(std::string(rill_last_error()).find("input \"lens\""), std::string::npos);
  }
}

TEST_P(SequenceLengths, ThatAreComputedAreThoseOfItsFrames) {
  const ModelPtr model = loaded(model_of(GetParam(), true, false));
  ASSERT_NE(model, nullptr);
  const Opened opened = open_session(model.get());
  ASSERT_NE(opened.session, nullptr) << rill_last_error();
  for (int64_t length = 0; length <= kFrames; ++length) {
    EXPECT_EQ(step<float>(opened, {4, static_cast<float>(length)}), RILL_OK) << rill_last_error();
  }
  for (const int64_t length : {int64_t{-1}, kFrames + 1}) {
    expect_refused(step<float>(opened, {4, static_cast<float>(length)}), length);
  }
}

// The frames of a stream are unknown until it ends.
TEST_P(SequenceLengths, OfAStreamAreNotNegative) {
  if (GetParam().gates == 0) GTEST_SKIP() << "a reversed sequence does not stream";
  const ModelPtr model = loaded(model_of(GetParam(), false, true));
  ASSERT_NE(model, nullptr);
  ASSERT_EQ(rill_model_pulse(model.get(), "S", "2"), RILL_OK) << rill_last_error();
  const Opened opened = open_session(model.get());
  ASSERT_NE(opened.session, nullptr) << rill_last_error();
  EXPECT_EQ(given(opened, 3), RILL_OK) << rill_last_error();
  expect_refused(given(opened, -1), -1);
}

INSTANTIATE_TEST_SUITE_P(, SequenceLengths,
                         ::testing::Values(LengthsCase{"LSTM", 4}, LengthsCase{"GRU", 3},
                                           LengthsCase{"RNN", 1},
                                           LengthsCase{"ReverseSequence", 0}),
                         [](const auto& each) { return std::string(each.param.op); });

}  // namespace
}  // namespace rill::test
