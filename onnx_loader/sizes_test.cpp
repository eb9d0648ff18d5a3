// Sizes that decide what a model reads: indices of tables, ends of slices, ranges, and lengths of
// wires that depend on an empty slice. Expected values by NumPy.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "onnx_loader/test_run.h"
#include "ops/math/test_support.h"

namespace rill::onnx {
namespace {

/// Return parts with an input x [S, 3], an output y, and `n`, the number of rows as a list of one.
GraphParts parts_of_rows() {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, 3}, {"S"})};
  parts.outputs = {value_info("y", {-1})};
  parts.initializers = {tensor_of_integers("zero", {1}, {0}), tensor_of_integers("one", {1}, {1}),
                        tensor_of_integers("seven", {1}, {7})};
  parts.nodes = {node_of("Shape", {"x"}, {"shape"}),
                 node_of("Slice", {"shape", "zero", "one"}, {"n"})};
  return parts;
}

std::vector<float> rows(int64_t count) {
  std::vector<float> out;
  for (int64_t i = 0; i < 3 * count; ++i) out.push_back(static_cast<float>(i));
  return out;
}

struct Place {
  std::vector<Message> nodes;
  int64_t (*of)(int64_t rows);
};

std::vector<Place> places() {
  return {{{node_of("Identity", {"n"}, {"i"})}, [](int64_t n) { return n; }},
          {{node_of("Sub", {"n", "one"}, {"i"})}, [](int64_t n) { return n - 1; }},
          {{node_of("Neg", {"n"}, {"i"})}, [](int64_t n) { return 20 - n; }},
          {{node_of("Min", {"n", "seven"}, {"i"})},
           [](int64_t n) { return std::min<int64_t>(n, 7); }}};
}

TEST(Sizes, SelectFromATable) {
  std::vector<float> table;
  for (int i = 0; i < 20; ++i) table.push_back(1.5F * static_cast<float>(i));
  for (const char* op : {"Gather", "GatherElements", "GatherND"}) {
    for (const Place& place : places()) {
      GraphParts parts = parts_of_rows();
      parts.initializers.push_back(tensor_of_floats("t", {20}, table));
      parts.nodes.insert(parts.nodes.end(), place.nodes.begin(), place.nodes.end());
      if (std::string(op) == "GatherND") {
        parts.initializers.push_back(tensor_of_integers("column", {2}, {1, 1}));
        parts.nodes.push_back(node_of("Reshape", {"i", "column"}, {"j"}));
        parts.nodes.push_back(node_of(op, {"t", "j"}, {"y"}));
      } else {
        parts.nodes.push_back(node_of(op, {"t", "i"}, {"y"}));
      }
      for (const int64_t n : {1, 3, 8, 19}) {
        EXPECT_EQ(run_on(model_of(parts), rows(n)),
                  std::vector<float>{table[static_cast<size_t>(place.of(n))]})
            << op << " of " << n;
      }
    }
  }
}

TEST(Sizes, EndSlicesWithinTheAxis) {
  const std::vector<std::pair<std::vector<Message>, int64_t (*)(int64_t)>> ends = {
      {{node_of("Mul", {"n", "seven"}, {"m"}), node_of("Min", {"m", "far"}, {"end"})},
       [](int64_t n) { return std::min<int64_t>(7 * n, 60); }},
      {{node_of("Max", {"n", "seven"}, {"end"})},
       [](int64_t n) { return std::max<int64_t>(n, 7); }},
      {{node_of("Mul", {"n", "n"}, {"end"})}, [](int64_t n) { return n * n; }},
      {{node_of("Sub", {"n", "seven"}, {"m"}), node_of("Max", {"m", "one"}, {"end"})},
       [](int64_t n) { return std::max<int64_t>(n - 7, 1); }}};
  for (const auto& [nodes, end] : ends) {
    GraphParts parts = parts_of_rows();
    parts.outputs = {value_info("y", {-1, 3})};
    parts.initializers.push_back(tensor_of_integers("far", {1}, {60}));
    parts.nodes.insert(parts.nodes.end(), nodes.begin(), nodes.end());
    parts.nodes.push_back(node_of("Slice", {"x", "zero", "end"}, {"y"}));
    for (const int64_t n : {1, 2, 5, 9, 70}) {
      EXPECT_EQ(run_on(model_of(parts), rows(n)), rows(std::min(n, end(n)))) << n;
    }
  }
}

TEST(Sizes, OfAFileCountNothingBackwards) {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, 3}, {"S"})};
  parts.outputs = {value_info("y", {-1})};
  parts.initializers = {tensor_of_integers("i", {}, {1}), tensor_of_integers("five", {}, {5}),
                        tensor_of_integers("zero", {}, {0}), tensor_of_integers("one", {}, {1})};
  parts.nodes = {node_of("Shape", {"x"}, {"shape"}), node_of("Gather", {"shape", "i"}, {"n"}),
                 node_of("Sub", {"n", "five"}, {"end"}),
                 node_of("Range", {"zero", "end", "one"}, {"r"}),
                 node_of("Cast", {"r"}, {"y"}, {integer_attribute("to", 1)})};
  EXPECT_EQ(run_on(model_of(parts), rows(2)), std::vector<float>());
}

// As NumPy has it, x[first:n] is empty where n is the length of an empty slice.
TEST(Sizes, EndSlicesWhereTheyCountFewerThanNone) {
  for (const int64_t cut : {1, 3, 40}) {
    for (const int64_t first : {0, 2}) {
      GraphParts parts = parts_of_rows();
      parts.outputs = {value_info("y", {-1, 3})};
      parts.initializers.push_back(tensor_of_integers("cut", {1}, {cut}));
      parts.initializers.push_back(tensor_of_integers("first", {1}, {first}));
      parts.nodes.push_back(node_of("Slice", {"x", "cut", "n"}, {"part"}));
      parts.nodes.push_back(
          node_of("Shape", {"part"}, {"rest"}, {integer_attribute("end", 1)}));
      parts.nodes.push_back(node_of("Slice", {"x", "first", "rest"}, {"y"}));
      for (const int64_t size : {1, 2, 3, 4, 5, 39, 40, 41, 60}) {
        const int64_t end = std::max<int64_t>(0, size - cut);
        std::vector<float> want = rows(std::max(first, end));
        want.erase(want.begin(), want.begin() + 3 * first);
        EXPECT_EQ(run_on(model_of(parts), rows(size)), want) << cut << " " << first << " " << size;
      }
    }
  }
}

/// Return a U-Net of means over `strides` rows, repeated back level by level and joined to the rows
/// of that level.
Message joined_skips(const std::vector<int64_t>& strides) {
  GraphParts parts;
  parts.inputs = {value_info("x", {-1, 3}, {"S"})};
  parts.outputs = {value_info("y", {1, -1, -1})};
  parts.initializers = {tensor_of_integers("front", {1}, {0})};
  parts.nodes = {node_of("Transpose", {"x"}, {"t"}, {integers_attribute("perm", {1, 0})}),
                 node_of("Unsqueeze", {"t", "front"}, {"down0"})};
  const auto name = [](const char* of, size_t level) { return of + std::to_string(level); };
  for (size_t i = 0; i < strides.size(); ++i) {
    parts.nodes.push_back(node_of("AveragePool", {name("down", i)}, {name("down", i + 1)},
                                  {integers_attribute("kernel_shape", {strides[i]}),
                                   integers_attribute("strides", {strides[i]})}));
  }
  std::string up = name("down", strides.size());
  for (size_t i = strides.size(); i-- > 0;) {
    const std::vector<std::string> copies(static_cast<size_t>(strides[i]), up);
    parts.nodes.push_back(
        node_of("Concat", copies, {name("long", i)}, {integer_attribute("axis", 2)}));
    parts.nodes.push_back(node_of("Concat", {name("long", i), name("down", i)}, {name("up", i)},
                                  {integer_attribute("axis", 1)}));
    up = name("up", i);
  }
  parts.nodes.push_back(node_of("Identity", {up}, {"y"}));
  return model_of(parts);
}

// PyTorch and onnxruntime run a U-Net whose skips are joined at lengths at which all levels fit.
TEST(Sizes, OfJoinedSkipsAreEqualAtSomeLengths) {
  for (const std::vector<int64_t>& strides :
       std::vector<std::vector<int64_t>>{{2, 2}, {2, 2, 2}, {3, 2}, {2, 5}, {4, 3, 2}}) {
    int64_t all = 1;
    for (const int64_t stride : strides) all *= stride;
    const auto graph = loaded(joined_skips(strides));
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    for (int64_t n = 1; n <= 2 * all + 1; ++n) {
      bool fits = true;
      int64_t rows = n;
      std::vector<int64_t> levels = {n};
      for (const int64_t stride : strides) levels.push_back(rows /= stride);
      for (size_t i = strides.size(); i-- > 0;) {
        fits &= levels[i + 1] * strides[i] == levels[i];
      }
      EXPECT_EQ(graph->with_symbol("S", Dim(n)).ok(), fits && levels.back() > 0) << n;
    }
    std::vector<float> x;
    for (int64_t i = 0; i < 3 * all; ++i) x.push_back(static_cast<float>(i % 3));
    const auto y = run_on(joined_skips(strides), x);
    ASSERT_EQ(y.size(), static_cast<size_t>(all) * 3 * (strides.size() + 1));
    for (size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(y[i], static_cast<float>(i / static_cast<size_t>(all) % 3)) << i;
    }
  }
}

TEST(Sizes, ThatAreNeverEqualAreRefused) {
  for (const int64_t more : {1, 2, 7}) {
    GraphParts parts = parts_of_rows();
    parts.outputs = {value_info("y", {-1, -1})};
    parts.initializers.push_back(
        tensor_of_floats("rows", {more, 3}, std::vector<float>(static_cast<size_t>(3 * more), 1)));
    parts.nodes.push_back(
        node_of("Concat", {"x", "x", "rows"}, {"more"}, {integer_attribute("axis", 0)}));
    parts.nodes.push_back(
        node_of("Concat", {"x", "more"}, {"y"}, {integer_attribute("axis", 1)}));
    EXPECT_NE(refused(model_of(parts)).find("expected equal"), std::string::npos);
  }
}

// The slice [3:-2] of 4 rows is empty, but a length computed from it would be -1 + 1.
TEST(Sizes, AfterAnEmptySliceAreRefused) {
  GraphParts parts = parts_of_rows();
  parts.initializers.push_back(tensor_of_integers("three", {1}, {3}));
  parts.initializers.push_back(tensor_of_integers("behind", {1}, {-2}));
  parts.initializers.push_back(tensor_of_floats("row", {1, 3}, {1, 2, 3}));
  parts.nodes.push_back(node_of("Slice", {"x", "three", "behind"}, {"part"}));
  parts.nodes.push_back(
      node_of("Concat", {"part", "row"}, {"all"}, {integer_attribute("axis", 0)}));
  parts.nodes.push_back(node_of("Shape", {"all"}, {"of_all"}));
  parts.nodes.push_back(node_of("Slice", {"of_all", "zero", "one"}, {"m"}));
  parts.nodes.push_back(node_of("Cast", {"m"}, {"y"}, {integer_attribute("to", 1)}));
  const auto graph = loaded(model_of(parts));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  EXPECT_EQ(run_on(model_of(parts), rows(7)), std::vector<float>{3});
  EXPECT_EQ(run_on(model_of(parts), rows(5)), std::vector<float>{1});
  const auto short_one = graph->with_symbol("S", Dim(4));
  ASSERT_FALSE(short_one.ok());
  EXPECT_EQ(short_one.error().code, Code::kShape);
}

// The mean of one row is a sum over -1 + 1 rows, as the file counts them.
TEST(Sizes, OfAMeanAfterAnEmptySliceAreRefused) {
  GraphParts parts = parts_of_rows();
  parts.initializers.push_back(tensor_of_integers("three", {1}, {3}));
  parts.nodes.push_back(node_of("Slice", {"x", "three", "n"}, {"part"}));
  parts.nodes.push_back(node_of("Slice", {"x", "zero", "one"}, {"first"}));
  parts.nodes.push_back(
      node_of("Concat", {"part", "first"}, {"all"}, {integer_attribute("axis", 0)}));
  parts.nodes.push_back(
      node_of("ReduceMean", {"all"}, {"y"}, {integers_attribute("axes", {0, 1})}));
  const auto graph = loaded(model_of(parts));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  EXPECT_EQ(run_on(model_of(parts), rows(3)), std::vector<float>{1});
  for (const int64_t n : {1, 2}) EXPECT_FALSE(graph->with_symbol("S", Dim(n)).ok()) << n;
}

/// Run a model of parts_of_rows; nothing if it is refused for this number of rows.
std::vector<float> run_or_refused(const GraphParts& parts, int64_t count) {
  const auto graph = loaded(model_of(parts));
  EXPECT_TRUE(graph.ok()) << graph.error().to_string();
  if (!graph.ok()) return {};
  const auto out = ops::test::run(*graph, {ops::test::f32({count, 3}, rows(count))});
  if (!out.ok()) return {};
  const auto values = out->front().values<float>();
  return {values.begin(), values.end()};
}

/// A number of the file in few bits, and onnxruntime's values for 1, 3, 10, 6000 and 7000 rows.
struct FewBits {
  int64_t type;
  std::vector<Message> nodes;
  std::vector<float> expected;
  bool is_refused_where_it_wraps = false;
};

std::vector<FewBits> numbers_of_few_bits() {
  const auto cast = [](const char* from, const char* to, int64_t type) {
    return node_of("Cast", {from}, {to}, {integer_attribute("to", type)});
  };
  const auto times = [](const char* factor) { return node_of("Mul", {"n", factor}, {"m"}); };
  return {{6,
           {times("n"), node_of("Mul", {"m", "fifty"}, {"k"}), cast("k", "i", 6)},
           {50, 450, 5000, 1800000000, -1844967296},
           true},
          {6,
           {cast("n", "n32", 6), cast("large", "large32", 6),
            node_of("Mul", {"n32", "large32"}, {"i"})},
           {700000, 2100000, 7000000, -94967296, 605032704},
           true},
          {3, {times("hundred"), cast("m", "i", 3)}, {100, 44, -24, -64, 96}},
          {2, {node_of("Sub", {"n", "seven"}, {"m"}), cast("m", "i", 2)}, {250, 252, 3, 105, 81}},
          {5, {times("thousands"), cast("m", "i", 5)}, {9000, 27000, 24464, -1664, 19904}},
          {4, {node_of("Sub", {"n", "seven"}, {"m"}), cast("m", "i", 4)},
           {65530, 65532, 3, 5993, 6993}}};
}

TEST(Sizes, OfFewBitsWrapOrAreRefused) {
  const std::vector<int64_t> counts = {1, 3, 10, 6000, 7000};
  for (const FewBits& number : numbers_of_few_bits()) {
    GraphParts parts = parts_of_rows();
    for (const auto& [name, value] : std::vector<std::pair<const char*, int64_t>>{
             {"fifty", 50}, {"hundred", 100}, {"thousands", 9000}, {"large", 700000}}) {
      parts.initializers.push_back(tensor_of_integers(name, {1}, {value}));
    }
    parts.nodes.insert(parts.nodes.end(), number.nodes.begin(), number.nodes.end());
    parts.nodes.push_back(node_of("Cast", {"i"}, {"y"}, {integer_attribute("to", 1)}));
    for (size_t i = 0; i < counts.size(); ++i) {
      const bool wraps = number.is_refused_where_it_wraps && counts[i] > 10 &&
                         number.expected[i] != 1800000000;
      EXPECT_EQ(run_or_refused(parts, counts[i]),
                wraps ? std::vector<float>() : std::vector<float>{number.expected[i]})
          << "to type " << number.type << " of " << counts[i];
    }
  }
}

// A product has 64 bits if the file casts a factor to 64 bits before.
TEST(Sizes, OfThirtyTwoBitsMayBeWidened) {
  GraphParts parts = parts_of_rows();
  parts.initializers.push_back(tensor_of_integers("large", {1}, {700000}));
  parts.nodes.push_back(node_of("Cast", {"n"}, {"n32"}, {integer_attribute("to", 6)}));
  parts.nodes.push_back(node_of("Cast", {"n32"}, {"n64"}, {integer_attribute("to", 7)}));
  parts.nodes.push_back(node_of("Mul", {"n64", "large"}, {"i"}));
  parts.nodes.push_back(node_of("Cast", {"i"}, {"y"}, {integer_attribute("to", 1)}));
  EXPECT_EQ(run_or_refused(parts, 7000), std::vector<float>{4.9e9F});
}

}  // namespace
}  // namespace rill::onnx
