#include "ops/math/places.h"

#include "core/optim/optim.h"
#include "ops/math/test_support.h"

namespace rill::ops::test {
namespace {

/// Return the graph of exp(x * mask) for x [2, S], with a mask over the indices r = 0, 1, ... along
/// S.
Graph masked(const std::string& mask) {
  return graph_of({{"x", "2, S"}}, "r = tract_core_range(0, S, 1); m = " + mask +
                                       "; f = tract_core_cast(m, to = 'f32');"
                                       " y = exp(x * unsqueeze(f, axes = [0]));");
}

size_t nodes_of(const std::string& mask) {
  return declutter(masked(mask)).value().nodes.size();
}

TEST(Places, ComparedWithTheLengthAreAConstant) {
  EXPECT_EQ(nodes_of("lt(r, S)"), 2U);
  EXPECT_EQ(nodes_of("ge(S, r + 1)"), 2U);
  EXPECT_EQ(nodes_of("not(ge(r, S))"), 2U);
  EXPECT_EQ(nodes_of("lt(r / 2, S)"), 2U);
  expect_streams(masked("lt(r, S)"), 1, {1, 2, 5}, {1, 4, 11});
}

TEST(Places, ComparedWithLessThanTheLengthDiffer) {
  for (const char* mask : {"lt(r, S - 1)", "ge(r, 1)", "lt(r + 1, S)", "le(r, 3)"}) {
    EXPECT_GT(nodes_of(mask), 2U) << mask;
    const Tensor x = random_f32(1, {2, 5});
    const auto simple = run(declutter(masked(mask)).value(), {x});
    const auto plain = run(masked(mask), {x});
    ASSERT_TRUE(simple.ok() && plain.ok()) << mask;
    expect_same((*simple)[0], (*plain)[0]);
  }
  const Tensor x = typed(DType::kF32, {2, 2}, {3, 3, 3, 3});
  const auto y = run(declutter(masked("lt(r, S - 1)")).value(), {x});
  ASSERT_TRUE(y.ok());
  EXPECT_EQ((*y)[0].values<float>()[1], 1.0F);
}

TEST(Places, OfASingleElementAreNotThoseOfOthers) {
  // 0 - (0, 1, 2, 3) is >= 0 only at index 0.
  const Graph graph = graph_of({{"x", "4"}},
                               "m = ge(tract_core_range(0, 1, 1) - tract_core_range(0, 4, 1), 0);"
                               " y = x * tract_core_cast(m, to = 'f32');");
  const auto y = run(declutter(graph).value(), {typed(DType::kF32, {4}, {1, 2, 3, 4})});
  ASSERT_TRUE(y.ok()) << y.error().to_string();
  expect_same((*y)[0], typed(DType::kF32, {4}, {1, 0, 0, 0}));
}

/// Return the differences between neighbours in the concatenation of `first` and r.
std::string steps_from(const std::string& first) {
  const std::string all = "concat([" + first + ", r], axis = 0)";
  const std::string cut = "), axes = [0], begin = [";
  return "slice((" + all + cut + "1], end = [0]) - slice((" + all + cut + "0], end = [S])";
}

TEST(Places, ThatAreConsecutiveDifferByOne) {
  const std::string before = "slice(r, axes = [0], begin = [0], end = [1]) - 1";
  for (const std::string& first : {before, std::string("tract_core_cast([-1], to = 'i64')")}) {
    EXPECT_EQ(nodes_of("eq(" + steps_from(first) + ", 1)"), 2U) << first;
    EXPECT_EQ(nodes_of("not(ne(" + steps_from(first) + ", 1))"), 2U) << first;
  }
  EXPECT_EQ(nodes_of("eq(r - r, 0)"), 2U);
  EXPECT_EQ(nodes_of("ne(r + 1, r)"), 2U);
}

TEST(Places, ComparisonsOfPossiblyEqualPlacesStay) {
  const std::string gap = steps_from("tract_core_cast([-3], to = 'i64')");
  for (const std::string& mask : {"eq(" + gap + ", 1)", std::string("eq(r, 1)"),
                                  std::string("ne(r, S - 1)"), std::string("eq(r * 2, r + 1)")}) {
    EXPECT_GT(nodes_of(mask), 2U) << mask;
    const Tensor x = random_f32(1, {2, 5});
    const auto simple = run(declutter(masked(mask)).value(), {x});
    const auto plain = run(masked(mask), {x});
    ASSERT_TRUE(simple.ok() && plain.ok()) << mask;
    expect_same((*simple)[0], (*plain)[0]);
  }
  const Tensor ones = typed(DType::kF32, {2, 3}, {1, 1, 1, 1, 1, 1});
  const auto y = run(declutter(masked("eq(" + gap + ", 1)")).value(), {ones});
  ASSERT_TRUE(y.ok());
  EXPECT_EQ((*y)[0].values<float>()[0], 1.0F);
  EXPECT_GT((*y)[0].values<float>()[1], 2.0F);
}

TEST(Places, ALimitBeyondThemIsDropped) {
  EXPECT_EQ(nodes_of("lt(r, min(r * 3 + 1, S))"), nodes_of("lt(r, r * 3 + 1)"));
  EXPECT_EQ(nodes_of("ge(r, max(r - 2, 0))"), nodes_of("ge(r, r - 2)"));
  for (const char* mask : {"lt(r, min(r * 2 - 3, 4))", "ge(r, min(2 * r - 3, S - 2))",
                           "lt(r, max(r * 2 - 3, 2))", "ge(r, max(r * 2 - 3, 0))"}) {
    const Tensor x = random_f32(2, {2, 7});
    const auto simple = run(declutter(masked(mask)).value(), {x});
    const auto plain = run(masked(mask), {x});
    ASSERT_TRUE(simple.ok() && plain.ok()) << mask;
    expect_same((*simple)[0], (*plain)[0]);
  }
}

}  // namespace
}  // namespace rill::ops::test
