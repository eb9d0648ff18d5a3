// Elementwise operations between bytes become a table with the same results.

#include <limits>

#include "core/exec/plan.h"
#include "core/optim/optim.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

/// Return a matrix of all bytes.
Tensor every_byte(DType type) {
  std::vector<double> values;
  const int first = type == DType::kU8 ? 0 : -128;
  for (int i = 0; i < 256; ++i) values.push_back(first + i);
  return typed(type, {16, 16}, values);
}

/// Expect that a plan gives the same bytes as without optimised forms, and that it has a table if
/// `table` is set.
void expect_table(const std::vector<Input>& inputs, std::string_view statements, const Tensor& x,
                  bool table, std::string_view results = "y") {
  const Graph graph = graph_of(inputs, statements, results);
  const auto want = run(graph, {x}, false);
  ASSERT_TRUE(want.ok()) << want.error().to_string();
  const auto got = run(graph, {x});
  ASSERT_TRUE(got.ok()) << got.error().to_string();
  for (size_t i = 0; i < want->size(); ++i) expect_same((*got)[i], (*want)[i]);
  const auto plan = prepare(graph);
  ASSERT_TRUE(plan.ok()) << plan.error().to_string();
  size_t tables = 0;
  for (const PlanNode& node : (*plan)->nodes) tables += node.op.view() == "LookupTable" ? 1 : 0;
  EXPECT_EQ(tables, table ? 1U : 0U);
}

TEST(ByteTable, HoldsTheResultOfEachByte) {
  for (const char* type : {"i8", "u8"}) {
    for (const char* to : {"i8", "u8"}) {
      const std::string text =
          str_cat("a = tract_core_cast(x, to = 'f32'); b = sigmoid(0.05 * a - 1.0); c = 255.0 * b;",
                  " y = tract_core_cast(c, to = '", to, "');");
      expect_table({{"x", "16, 16", type}}, text, every_byte(*dtype_from_name(type)), true);
    }
  }
}

TEST(ByteTable, OfAWireThatOthersReadIsNone) {
  const char* text =
      "a = tract_core_cast(x, to = 'f32'); b = tanh(0.1 * a);"
      " y = tract_core_cast(100.0 * b, to = 'i8');";
  expect_table({{"x", "16, 16", "i8"}}, text, every_byte(DType::kI8), false, "y, b");
}

TEST(ByteTable, OfConstantsThatDifferIsNone) {
  const char* text =
      "a = tract_core_cast(x, to = 'f32'); b = a * [[0.5, 0.25, 1.0, 2.0, 0.5, 0.25, 1.0, 2.0, 0.5,"
      " 0.25, 1.0, 2.0, 0.5, 0.25, 1.0, 2.0]]; y = tract_core_cast(tanh(b), to = 'i8');";
  expect_table({{"x", "16, 16", "i8"}}, text, every_byte(DType::kI8), false);
}

/// Expected: sigmoid((byte - 128) / 16) in units of 1/255, by NumPy:
/// `np.rint(255 / (1 + np.exp(-(np.array([0, 64, 120, 128, 136, 192, 255]) - 128) / 16)))`.
TEST(ByteTable, OfASigmoid) {
  const char* text =
      "a = tract_core_cast(x, to = 'f32'); b = sigmoid((a - 128.0) / 16.0);"
      " y = tract_core_cast(tract_core_round_even(255.0 * b), to = 'u8');";
  const Graph graph = graph_of({{"x", "7", "u8"}}, text);
  const auto got = run(graph, {typed(DType::kU8, {7}, {0, 64, 120, 128, 136, 192, 255})});
  ASSERT_TRUE(got.ok()) << got.error().to_string();
  expect_same((*got)[0], typed(DType::kU8, {7}, {0, 5, 96, 128, 159, 250, 255}));
}

/// Dequantized bytes, and f32 results computed from them.
TEST(ByteTable, OfRealNumbers) {
  const char* text =
      "a = tract_core_cast(x, to = 'i32'); b = tract_core_cast(a - 7, to = 'f32'); c = 0.03 * b;"
      " y = tanh(c) + 0.5;";
  for (const DType type : {DType::kU8, DType::kI8}) {
    expect_table({{"x", "16, 16", type == DType::kU8 ? "u8" : "i8"}}, text, every_byte(type), true);
  }
}

TEST(ByteTable, OfRealNumbersThatTwoNodesReadIsOne) {
  const char* text =
      "a = tract_core_cast(x, to = 'i32'); b = tract_core_cast(a - 7, to = 'f32'); c = 0.03 * b;"
      " y = tanh(c); z = c + y;";
  expect_table({{"x", "16, 16", "i8"}}, text, every_byte(DType::kI8), true, "y, z");
}

/// Rounded to bytes as in ONNX: NaN becomes the lowest byte.
TEST(WholeCast, GivesTheBytesOfRoundedNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = f32({9}, {-1e30F, -0.5F, 0.05F, 0.15F, 0.25F, 12.3F, nan, inf, -inf});
  const struct {
    const char* type;
    const char* low;
    const char* high;
    std::vector<double> bytes;
  } cases[] = {
      // `np.clip(np.rint(x / np.float32(0.1)) + 7, low, high)`, and `low` for NaN.
      {"u8", "0.0", "255.0", {0, 2, 7, 9, 9, 130, 0, 255, 0}},
      {"i8", "-128.0", "127.0", {-128, 2, 7, 9, 9, 127, -128, 127, -128}},
  };
  for (const auto& each : cases) {
    const std::string text =
        str_cat("a = tract_core_round_even(x / 0.1) + 7.0; b = select(a > ", each.low, ", a, ",
                each.low, "); c = select(b < ", each.high, ", b, ", each.high,
                "); y = tract_core_cast(c, to = '", each.type, "');");
    const Graph graph = graph_of({{"x", "9", "f32"}}, text);
    const auto got = run(graph, {x});
    ASSERT_TRUE(got.ok()) << got.error().to_string();
    expect_same((*got)[0], typed(*dtype_from_name(each.type), {9}, each.bytes));
    const auto plan = prepare(declutter(graph).value());
    ASSERT_TRUE(plan.ok()) << plan.error().to_string();
    EXPECT_EQ((*plan)->steps.back().kind->name, std::string_view("cast_bytes"));
  }
}

/// A cast still truncates a value that was not rounded.
TEST(WholeCast, OfOtherNumbersIsNone) {
  const Graph graph = graph_of({{"x", "3", "f32"}},
                               "c = min(max(x, 0.0), 255.0); y = tract_core_cast(c, to = 'u8');");
  const auto got = run(graph, {f32({3}, {1.9F, 2.5F, 300.0F})});
  ASSERT_TRUE(got.ok()) << got.error().to_string();
  expect_same((*got)[0], typed(DType::kU8, {3}, {1, 2, 255}));
}

}  // namespace
}  // namespace rill::ops::test
