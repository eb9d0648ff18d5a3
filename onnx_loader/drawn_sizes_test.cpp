// Random models that compute numbers from the lengths of slices, joined wires and the like. Nodes
// read the numbers as amounts of padding, ends, counts, conditions and factors. Each drawn part has
// a function that counts its rows by NumPy's rules: an empty slice has 0 rows.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/splitmix.h"
#include "nnef_loader/load.h"
#include "onnx_loader/test_run.h"
#include "ops/math/test_support.h"
#include "ops/op_table.h"

namespace rill::onnx {
namespace {

constexpr int64_t kFar = int64_t{1} << 60;

/// A number of the model for an input of `rows`.
using Count = std::function<int64_t(int64_t rows)>;
using Rows = std::vector<float>;

struct Part {
  std::string name;
  Count count;
};

/// Return the rows from `begin` to `end` of `rows`, as NumPy counts them.
std::pair<int64_t, int64_t> slice_of(int64_t rows, int64_t begin, int64_t end) {
  const auto place = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rows : at, 0, rows);
  };
  return {place(begin), std::max(place(begin), place(end))};
}

class DrawnModel {
 public:
  explicit DrawnModel(uint64_t seed) : draw_(seed) {
    parts_.inputs = {value_info("x", {-1, 3}, {"S"})};
    parts_.outputs = {value_info("y", {-1})};
    const Part number = drawn_number(0);
    use(number);
  }

  Message model() const { return model_of(parts_); }
  /// Return the elements of the result for an input of `rows` rows: 1, 2, 3 and so on.
  Rows expected(int64_t rows) const { return expected_(rows); }
  const std::string& text() const { return text_; }

 private:
  std::string fresh() { return str_cat("v", next_++); }
  std::string number(int64_t value) {
    const std::string name = fresh();
    parts_.initializers.push_back(tensor_of_integers(name, {1}, {value}));
    text_ += str_cat(name, "=", value, " ");
    return name;
  }
  std::string node(const char* op, const std::vector<std::string>& inputs,
                   const std::vector<Message>& attributes = {}) {
    const std::string name = fresh();
    parts_.nodes.push_back(node_of(op, inputs, {name}, attributes));
    text_ += str_cat(name, " = ", op, "(");
    for (const std::string& input : inputs) text_ += str_cat(input, " ");
    text_ += ") ";
    return name;
  }

  /// Draw a wire of rows.
  Part wire(int depth) {
    const Part from = depth < 2 && draw_.in(0, 2) == 0 ? wire(depth + 1)
                                                       : Part{"x", [](int64_t n) { return n; }};
    if (depth < 2 && draw_.in(0, 3) == 0) {
      const Part other = wire(depth + 1);
      return {node("Concat", {from.name, other.name}, {integer_attribute("axis", 0)}),
              [from, other](int64_t n) { return from.count(n) + other.count(n); }};
    }
    const bool late = draw_.in(0, 1) == 0;
    const int64_t begin = late ? draw_.in(1, 40) : draw_.in(-9, 9);
    const int64_t ends[] = {kFar, draw_.in(1, 30), -draw_.in(1, 30)};
    const int64_t end = ends[late ? 0 : draw_.in(0, 2)];
    text_ += str_cat("[", begin, ":", end, "] ");
    return {node("Slice", {from.name, number(begin), number(end)}),
            [from, begin, end](int64_t n) {
              const auto [first, last] = slice_of(from.count(n), begin, end);
              return last - first;
            }};
  }

  /// Draw a number as a list of one.
  Part drawn_number(int depth) {
    const int64_t form = depth < 3 ? draw_.in(0, 7) : 0;
    if (form < 2) {
      const Part rows = wire(0);
      const std::string shape = node("Shape", {rows.name});
      return {node("Slice", {shape, number(0), number(1)}), rows.count};
    }
    const Part a = drawn_number(depth + 1);
    const int64_t k = draw_.in(-30, 30);
    switch (form) {
      case 2:
        return {node("Add", {a.name, number(k)}), [a, k](int64_t n) { return a.count(n) + k; }};
      case 3:
        return {node("Sub", {number(k), a.name}), [a, k](int64_t n) { return k - a.count(n); }};
      case 4:
        return {node("Min", {a.name, number(k)}),
                [a, k](int64_t n) { return std::min(a.count(n), k); }};
      case 5:
        return {node("Max", {a.name, number(k)}),
                [a, k](int64_t n) { return std::max(a.count(n), k); }};
      case 6: {
        const Part b = drawn_number(depth + 1);
        return {node("Add", {a.name, b.name}),
                [a, b](int64_t n) { return a.count(n) + b.count(n); }};
      }
      default: {
        const Part b = drawn_number(depth + 1);
        return {node("Sub", {a.name, b.name}),
                [a, b](int64_t n) { return a.count(n) - b.count(n); }};
      }
    }
  }

  void finish(const std::string& wire, std::function<Rows(int64_t)> expected) {
    parts_.nodes.push_back(node_of("Identity", {wire}, {"y"}));
    expected_ = std::move(expected);
  }
  std::string scalar(const std::string& list) {
    const std::string shape = fresh();
    parts_.initializers.push_back(tensor_of_integers(shape, {0}, {}));
    return node("Reshape", {list, shape});
  }
  std::string as_float(const std::string& wire) {
    return node("Cast", {wire}, {integer_attribute("to", 1)});
  }
  /// Return the elements of x from one row to another.
  static Rows part(int64_t first, int64_t last) {
    Rows out;
    for (int64_t i = 3 * first; i < 3 * last; ++i) out.push_back(static_cast<float>(i + 1));
    return out;
  }
  /// Return all elements of x, each times what `factor` gives for its row.
  static Rows times(int64_t rows, const std::function<int64_t(int64_t row)>& factor) {
    Rows out = part(0, rows);
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] *= static_cast<float>(factor(static_cast<int64_t>(i) / 3));
    }
    return out;
  }

  /// Let a node read the number.
  void use(const Part& k) {
    const int64_t form = draw_.in(0, 8);
    text_ += str_cat("use ", form, " ");
    const Count count = k.count;
    const Count amount = [count](int64_t n) { return std::max<int64_t>(count(n), 0); };
    switch (form) {
      case 0:
      case 1: {  // padding before or after
        const std::string pads = node("Max", {k.name, number(0)});
        const std::string none = number(0);
        const std::vector<std::string> list =
            form == 0 ? std::vector{pads, none, none, none} : std::vector{none, none, pads, none};
        const std::string all = node("Concat", list, {integer_attribute("axis", 0)});
        finish(node("Pad", {"x", all}), [amount, form](int64_t n) {
          Rows out = part(0, n);
          out.insert(form == 0 ? out.begin() : out.end(), static_cast<size_t>(3 * amount(n)), 0.0F);
          return out;
        });
        return;
      }
      case 2:
        finish(node("Slice", {"x", number(0), k.name}), [count](int64_t n) {
          const auto [first, last] = slice_of(n, 0, count(n));
          return part(first, last);
        });
        return;
      case 3:
        finish(node("Slice", {"x", k.name, number(kFar)}), [count](int64_t n) {
          const auto [first, last] = slice_of(n, count(n), kFar);
          return part(first, last);
        });
        return;
      case 4: {
        const std::string range =
            node("Range", {scalar(number(0)), scalar(k.name), scalar(number(1))});
        finish(as_float(range), [amount](int64_t n) {
          Rows out;
          for (int64_t i = 0; i < amount(n); ++i) out.push_back(static_cast<float>(i));
          return out;
        });
        return;
      }
      case 5: {
        const std::string shape = node("Max", {k.name, number(0)});
        parts_.initializers.push_back(tensor_of_floats("row", {1}, {7}));
        finish(node("Expand", {"row", shape}),
               [amount](int64_t n) { return Rows(static_cast<size_t>(amount(n)), 7.0F); });
        return;
      }
      case 6: {  // rows before the number
        const std::string shape = node("Shape", {"x"});
        const std::string rows = node("Slice", {shape, number(0), number(1)});
        const std::string places =
            node("Range", {scalar(number(0)), scalar(rows), scalar(number(1))});
        const std::string column = fresh();
        parts_.initializers.push_back(tensor_of_integers(column, {2}, {-1, 1}));
        const std::string before = node("Less", {node("Reshape", {places, column}), k.name});
        finish(node("Mul", {"x", as_float(before)}), [count](int64_t n) {
          return times(n, [&](int64_t row) { return row < count(n) ? 1 : 0; });
        });
        return;
      }
      case 7: {
        const int64_t least = draw_.in(-20, 20);
        const std::string reached = node("GreaterOrEqual", {k.name, number(least)});
        finish(node("Where", {reached, "x", node("Neg", {"x"})}), [count, least](int64_t n) {
          return times(n, [&](int64_t) { return count(n) >= least ? 1 : -1; });
        });
        return;
      }
      default:
        finish(node("Mul", {"x", as_float(k.name)}), [count](int64_t n) {
          return times(n, [&](int64_t) { return count(n); });
        });
    }
  }

  Splitmix64 draw_;
  GraphParts parts_;
  std::function<Rows(int64_t)> expected_;
  std::string text_;
  int next_ = 0;
};

TEST(DrawnSizes, AreThoseOfNumPyOrRefused) {
  constexpr int64_t kLong = 200;
  int right = 0;
  int long_ones = 0;
  int refused_long_ones = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const DrawnModel drawn(seed);
    const auto graph = loaded(drawn.model());
    if (!graph.ok()) continue;
    for (const int64_t rows : std::initializer_list<int64_t>{1, 2, 5, 13, 45, kLong}) {
      Rows x;
      for (int64_t i = 0; i < 3 * rows; ++i) x.push_back(static_cast<float>(i + 1));
      const auto out = ops::test::run(*graph, {ops::test::f32({rows, 3}, x)});
      long_ones += rows == kLong;
      refused_long_ones += rows == kLong && !out.ok();
      if (!out.ok()) continue;
      ++right;
      const auto values = out->front().values<float>();
      EXPECT_EQ(Rows(values.begin(), values.end()), drawn.expected(rows))
          << "seed " << seed << " at " << rows << ": " << drawn.text();
    }
  }
  EXPECT_GT(right, 2000);
  EXPECT_LT(3 * refused_long_ones, long_ones);
}

TEST(DrawnSizes, AreThoseOfNumPyOrRefusedAfterTheyWereWritten) {
  nnef::SaveOptions options;
  options.read_back = ops::op_table();
  int right = 0;
  int refused = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const DrawnModel drawn(seed);
    const auto graph = loaded(drawn.model());
    if (!graph.ok()) continue;
    const auto again = nnef::read_back(*graph, options);
    if (!again.ok()) continue;
    for (const int64_t rows : {1, 2, 5, 13, 45}) {
      Rows x;
      for (int64_t i = 0; i < 3 * rows; ++i) x.push_back(static_cast<float>(i + 1));
      const auto out = ops::test::run(*again, {ops::test::f32({rows, 3}, x)});
      refused += !out.ok();
      if (!out.ok()) continue;
      ++right;
      const auto values = out->front().values<float>();
      EXPECT_EQ(Rows(values.begin(), values.end()), drawn.expected(rows))
          << "seed " << seed << " at " << rows << ": " << drawn.text();
    }
  }
  EXPECT_GT(right, 600);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace rill::onnx
