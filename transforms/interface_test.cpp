#include "transforms/interface.h"

#include "ops/math/test_support.h"

namespace rill::transforms {
namespace {

using ops::test::f32;
using ops::test::graph_of;
using ops::test::run;

Graph chain() {
  return graph_of({{"x", "1, 2"}, {"z", "1, 2"}}, "a = x * z; b = a + 1.0; y = b * a;");
}

TEST(Interface, NodesBecomeInputs) {
  const std::vector<std::string> names{"b", "a"};
  const auto cut = with_inputs_at(chain(), names);
  ASSERT_TRUE(cut.ok()) << cut.error().to_string();
  ASSERT_EQ(cut->inputs.size(), 2U);
  EXPECT_EQ(cut->input_name(0), "b");
  const auto out = run(*cut, {f32({1, 2}, {2, 3}), f32({1, 2}, {5, 7})});
  ASSERT_TRUE(out.ok()) << out.error().to_string();
  ops::test::expect_same((*out)[0], f32({1, 2}, {10, 21}));
}

TEST(Interface, InputsThatAreStillNeededCannotGo) {
  const std::vector<std::string> names{"b"};
  const auto cut = with_inputs_at(chain(), names);
  ASSERT_FALSE(cut.ok());
  EXPECT_NE(cut.error().to_string().find("still needed"), std::string::npos);
  const std::vector<std::string> unknown{"nope"};
  EXPECT_EQ(with_inputs_at(chain(), unknown).status().code(), Code::kArg);
}

TEST(Interface, NewFactsReachTheOutputs) {
  const Graph graph = graph_of({{"bias", "1, 1"}}, "y = bias * 2.0;");
  const auto wide =
      with_source_fact(graph, "bias", Fact::of(DType::kF32, {Dim::symbol("B"), Dim(1)}));
  ASSERT_TRUE(wide.ok()) << wide.error().to_string();
  EXPECT_EQ(wide->fact(wide->outputs[0]).to_string(), "B,1,F32");
  const auto computed = with_source_fact(graph, "y", Fact::of(DType::kF32, {Dim(1)}));
  ASSERT_FALSE(computed.ok());
  EXPECT_EQ(computed.status().code(), Code::kArg);
}

TEST(Interface, InputsBecomeConstants) {
  const auto fixed = with_constant_input(chain(), "z", f32({1, 2}, {2, -1}));
  ASSERT_TRUE(fixed.ok()) << fixed.error().to_string();
  ASSERT_EQ(fixed->inputs.size(), 1U);
  const auto out = run(*fixed, {f32({1, 2}, {3, 4})});
  ASSERT_TRUE(out.ok()) << out.error().to_string();
  ops::test::expect_same((*out)[0], f32({1, 2}, {42, 12}));  // (6 + 1) 6, (-4 + 1) (-4)
}

}  // namespace
}  // namespace rill::transforms
