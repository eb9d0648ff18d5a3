#include "ops/math/reduce.h"

#include <cmath>

#include "core/optim/optim.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

TEST(Reduce, ExtremaAreTheSameInEveryLayout) {
  const Tensor x = random_f32(1, {2, 3, 4});
  for (const std::vector<int64_t>& axes :
       {std::vector<int64_t>{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}, {}}) {
    for (const ReduceKind kind : {ReduceKind::kMax, ReduceKind::kMin, ReduceKind::kArgMax}) {
      expect_every_layout(make_op<Reduce>(kind, axes), {x});
    }
  }
}

TEST(Reduce, SumsAreNearInEveryLayout) {
  const Tensor x = random_f32(1, {3, 40, 2});
  for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0}, {1}, {2}, {0, 2}, {0, 1, 2}}) {
    const Reduce op(ReduceKind::kSum, axes);
    const Tensor want = eval(op, {x}).value()[0];
    for (const char* order : {"0, 1, 2", "2, 1, 0", "1, 0, 2", "0, 2, 1"}) {
      std::string list;
      for (const int64_t axis : axes) list += str_cat(list.empty() ? "" : ", ", axis);
      // Two transpositions are the identity, but change the layout in memory.
      const Graph graph = graph_of({{"x", "3, 40, 2"}},
                                   str_cat("e = exp(log(x)); a = transpose(x, axes = [", order,
                                           "]); b = neg(a); c = transpose(b, axes = [", order,
                                           "]); y = neg(sum_reduce(c, axes = [", list, "]));"));
      if (std::string_view(order) == "1, 2, 0") continue;
      // 120 terms below 2: each addition rounds by at most 2^-24 of the sum of magnitudes.
      expect_near(run(graph, {x}).value()[0], want, 120 * 2 * 6e-8, 0);
    }
  }
}

TEST(Reduce, RefusalsNameTheCause) {
  const std::vector<Input> x = {{"x", "2, 3"}, {"b", "2", "bool"}};
  expect_load_error(x, "y = sum_reduce(x, axes = [2]);", Code::kShape, "no axis 2");
  expect_load_error(x, "y = sum_reduce(b, axes = [0]);", Code::kDType, "not defined for Bool");
  expect_load_error(x, "y = any_reduce(x, axes = [0]);", Code::kDType, "not defined for F32");
  expect_load_error(x, "y = max_reduce(S, axes = []);", Code::kDType, "not defined for TDim");
  const auto sizes = load(x, "y = max_reduce(S, axes = []);");
  EXPECT_NE(sizes.error().hint.find("the type of sizes"), std::string::npos);
}

TEST(Reduce, MultipliesDims) {
  const Graph graph =
      graph_of({{"x", "B, 3, S"}},
               "s = tract_core_shape_of(x); n = tract_core_product_reduce(s, axes = [0]);"
               " y = reshape(x, shape = n);");
  EXPECT_EQ(graph.fact(graph.outputs[0]).to_string(), "3*B*S,F32");
}

TEST(Reduce, OverASymbolicAxisDividesOnceItsExtentIsBound) {
  const Graph graph = graph_of({{"x", "2, S"}}, "y = sum_reduce(x, axes = [1], normalize = true);");
  expect_same(run(graph, {f32({2, 2}, {1, 3, 5, 8})}).value()[0], f32({2, 1}, {2, 6.5F}));
}

// By hand: the sum and the count exceed 65504, the largest f16.
TEST(Reduce, MeansOfF16MayHaveSumsAndCountsOutOfItsRange) {
  const std::vector<int64_t> shape = {2, 70000};
  const Graph graph = graph_of({{"x", "2, 70000"}},
                               "h = tract_core_cast(x, to = 'f16');"
                               "y = tract_core_cast(mean_reduce(h, axes = [1]), to = 'f32');");
  const Tensor x = f32(shape, std::vector<float>(140000, 0.75F));
  expect_same(run(graph, {x}).value()[0], f32({2, 1}, {0.75F, 0.75F}));
}

// A sum of one float flushes a denormal, as a sum of several does.
TEST(Reduce, OverUnitAxesVanishesIfItChangesNothing) {
  const auto nodes = [](const char* statements) {
    return declutter(graph_of({{"x", "1, S"}}, statements)).value().nodes.size();
  };
  for (const char* kind : {"tract_core_product", "max", "sum"}) {
    EXPECT_EQ(nodes(str_cat("y = ", kind, "_reduce(x, axes = [0]);").c_str()), 2U) << kind;
    EXPECT_EQ(nodes(str_cat("i = tract_core_cast(x, to = 'i64'); y = ", kind,
                            "_reduce(i, axes = [0]);")
                        .c_str()),
              2U)
        << kind << ", the cast alone";
  }
}

/// A stream of one frame adds the frame to 0, as a longer stream does.
TEST(Reduce, OfOneNegativeZeroIsZero) {
  const Graph graph = graph_of({{"x", "S, 2"}}, "y = sum_reduce(x, axes = [0]);");
  const Graph one = declutter(graph.with_symbol("S", Dim(1)).value()).value();
  for (const Graph* each : {&graph, &one}) {
    const Tensor sum = run(*each, {f32({1, 2}, {-0.0F, 3})}).value()[0];
    EXPECT_FALSE(std::signbit(sum.data<float>()[0]));
    EXPECT_EQ(sum.data<float>()[1], 3);
  }
}

TEST(Reduce, OfChannelsStreams) {
  for (const char* name : {"sum_reduce", "max_reduce", "min_reduce"}) {
    const Graph graph = graph_of({{"x", "5, S"}}, str_cat("y = ", name, "(x, axes = [0]);"));
    expect_streams(graph, 1, {1, 2, 7}, {1, 2, 9, 20}, {0, 0, 0});
    const Graph last = graph_of({{"x", "S, 37"}}, str_cat("y = ", name, "(x, axes = [1]);"));
    expect_streams(last, 0, {1, 2, 7}, {1, 2, 9, 20}, {0, 0, 0});
    const Graph moved =
        graph_of({{"x", "37, S"}},
                 str_cat("a = transpose(x, axes = [1, 0]); y = ", name, "(a, axes = [1]);"));
    expect_streams(moved, 1, {1, 2, 7}, {1, 2, 9, 20}, {0, 0, 0});
    const Graph back =
        graph_of({{"x", "S, 37"}},
                 str_cat("a = transpose(x, axes = [1, 0]); y = ", name, "(a, axes = [0]);"));
    expect_streams(back, 0, {1, 2, 7}, {1, 2, 9, 20}, {0, 0, 0});
    const Graph pairs = graph_of({{"x", "3, S, 2"}}, str_cat("y = ", name, "(x, axes = [2]);"));
    expect_streams(pairs, 1, {1, 2, 7}, {1, 2, 9, 20}, {0, 0, 0});
    const Graph separate =
        graph_of({{"x", "3, S, 5"}}, str_cat("y = ", name, "(x, axes = [0, 2]);"));
    expect_streams(separate, 1, {1, 2, 7}, {1, 2, 9, 20}, {0, 0, 0});
  }
}

TEST(Reduce, OfFramesIsRefused) {
  expect_refused(graph_of({{"x", "5, S"}}, "y = sum_reduce(x, axes = [1]); z = sub(x, y);", "z"), 2,
                 "known at the end of the stream only");
}

TEST(Reduce, IsWrittenAndReadBack) {
  const Graph graph =
      graph_of({{"x", "2, 3"}},
               "a = sum_reduce(x, axes = [1], normalize = true); b = max_reduce(x, axes = [0]);"
               " i = tract_core_cast(tract_core_argmax_reduce_last(x, axes = [1]), to = 'f32');"
               " y = a + b + i + tract_core_product_reduce(x, axes = [0, 1]);");
  expect_written_and_read(graph, {random_f32(1, {2, 3})});
}

}  // namespace
}  // namespace rill::ops::test
