#include "transforms/patch.h"

#include "core/optim/optim.h"
#include "ops/math/test_support.h"
#include "ops/op_table.h"

namespace rill::transforms {
namespace {

using ops::test::f32;
using ops::test::graph_of;
using ops::test::i64;
using ops::test::run;

Result<Graph> patched_with(const Graph& graph, std::string_view body,
                           const std::vector<std::string>& outputs = {}) {
  return patched(graph, body, outputs, ops::op_table());
}

Graph chain() { return graph_of({{"x", "2"}}, "a = x + 1.0; b = a * 3.0; y = b - 2.0;"); }

TEST(Patch, ReplacesAWireForAllReaders) {
  const auto graph = patched_with(chain(), "a = x * x;");
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  const auto out = run(*graph, {f32({2}, {2, 3})});
  ASSERT_TRUE(out.ok()) << out.error().to_string();
  ops::test::expect_same((*out)[0], f32({2}, {10, 25}));  // 3 x^2 - 2
}

TEST(Patch, ReadsTheWireThatItReplaces) {
  const auto graph = patched_with(chain(), "half = b * 0.5; b = half + x;");
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  const auto out = run(*graph, {f32({2}, {2, 3})});
  ASSERT_TRUE(out.ok()) << out.error().to_string();
  ops::test::expect_same((*out)[0], f32({2}, {4.5, 7}));  // 1.5 (x + 1) + x - 2
}

TEST(Patch, GivesNewOutputs) {
  const auto graph = patched_with(chain(), "square = b * b;", {"square"});
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  EXPECT_EQ(graph->output_names, (std::vector<std::string>{"y", "square"}));
  const auto out = run(*graph, {f32({2}, {0, 1})});
  ASSERT_TRUE(out.ok()) << out.error().to_string();
  ops::test::expect_same((*out)[1], f32({2}, {9, 36}));
}

TEST(Patch, OfAnInputKeepsTheInput) {
  const Graph graph = graph_of({{"x", "1, S"}, {"length", "1", "i64"}},
                               "n = tract_core_cast(length, to = 'f32'); y = x * n;");
  const auto fixed = patched_with(graph, "length = tract_core_shape_of(x)[1];");
  ASSERT_TRUE(fixed.ok()) << fixed.error().to_string();
  const auto simple = declutter(*fixed);
  ASSERT_TRUE(simple.ok()) << simple.error().to_string();
  EXPECT_EQ(simple->inputs.size(), 2U);
  EXPECT_EQ(simple->count_uses()[static_cast<size_t>(simple->inputs[1].node)][0], 0);
  const auto out = run(*simple, {f32({1, 3}, {1, 2, 4}), i64({1}, {77})});
  ASSERT_TRUE(out.ok()) << out.error().to_string();
  ops::test::expect_same((*out)[0], f32({1, 3}, {3, 6, 12}));
}

TEST(Patch, OfUnknownWiresIsAnError) {
  const auto unknown = patched_with(chain(), "c = x * 2.0;");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.status().code(), Code::kArg);
  EXPECT_NE(unknown.error().to_string().find("'c'"), std::string::npos);
  EXPECT_FALSE(patched_with(chain(), "a = nowhere * 2.0;").ok());
  EXPECT_EQ(patched_with(chain(), "a = (x;").status().code(), Code::kParse);
  const auto circle = patched_with(chain(), "x = y * 2.0;");
  ASSERT_FALSE(circle.ok());
  EXPECT_NE(circle.error().to_string().find("depend on itself"), std::string::npos);
}

}  // namespace
}  // namespace rill::transforms
