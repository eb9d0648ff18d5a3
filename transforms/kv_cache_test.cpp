#include "transforms/kv_cache.h"

#include "ops/math/test_support.h"

namespace rill::transforms {
namespace {

using ops::test::graph_of;

constexpr const char* kTwoCaches =
    "keys = concat([k_past, x], axis = 1); values = concat([v_past, x], axis = 1);"
    "fixed = concat([table, x], axis = 1); y = x * 2.0; z = keys + 1.0;";

TEST(KvCaches, ComeLastAndAreNamedAfterTheirInputs) {
  const Graph graph = graph_of(
      {{"k_past", "1, P, 4"}, {"x", "1, S, 4"}, {"v_past", "1, P, 4"}, {"table", "1, 3, 4"}},
      kTwoCaches, "keys, y, values, z, fixed");
  std::vector<std::string> caches;
  const auto out = with_unfolded_caches(graph, &caches);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(caches, (std::vector<std::string>{"k_past", "v_past"}));
  EXPECT_EQ(out->output_names,
            (std::vector<std::string>{"y", "z", "fixed", "k_past_concat", "v_past_concat"}));
  EXPECT_EQ(out->input_name(0), "x");
  EXPECT_EQ(out->input_name(1), "table");
  EXPECT_EQ(out->input_name(2), "k_past");
  EXPECT_EQ(out->input_name(3), "v_past");
}

TEST(KvCaches, AreReadByOneNodeOnly) {
  const Graph graph =
      graph_of({{"past", "1, P, 4"}, {"x", "1, S, 4"}},
               "all = concat([past, x], axis = 1); y = past * 2.0; z = x * 2.0;", "all, y, z");
  const auto out = with_unfolded_caches(graph);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->output_names, graph.output_names);
}

}  // namespace
}  // namespace rill::transforms
