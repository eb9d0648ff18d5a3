// Loads the archives of the exporter and of tract, and writes them back.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/optim/optim.h"
#include "nnef_loader/load.h"
#include "ops/array/broadcast.h"
#include "ops/op_table.h"

namespace rill::nnef {
namespace {

std::vector<std::string> archives() {
  std::vector<std::string> paths;
  const auto folder = std::filesystem::path(RILL_SOURCE_DIR) / "tests" / "models";
  if (!std::filesystem::exists(folder)) return paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".nnef.tgz")) paths.push_back(path);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  const std::filesystem::path path(info.param);
  std::string name = path.parent_path().filename().string() + "_" + path.filename().string();
  name.resize(name.size() - std::string(".nnef.tgz").size());
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !isalnum(static_cast<unsigned char>(c)); },
      '_');
  return name;
}

/// Texts of nodes and their outputs, without names.
std::vector<std::string> node_texts(const Graph& graph) {
  std::vector<std::string> texts;
  for (const Node& node : graph.nodes) {
    if (node.op->as<Const>()) continue;
    std::string text(node.op->name());
    for (const Fact& fact : node.outputs) text += " " + fact.to_string();
    if (const Graph* body = node.op->nested()) {
      const std::vector<std::string> inner = node_texts(*body);
      texts.insert(texts.end(), inner.begin(), inner.end());
    } else if (const std::string attributes = node.op->attributes();
               attributes.find('@') == std::string::npos) {
      text += " " + attributes;  // large tensors are printed as addresses
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

/// Return the graph with a number for each symbol.
Graph in_numbers(Graph graph) {
  const std::vector<std::string> symbols = graph.scope.symbols();
  for (const std::string& symbol : symbols) {
    auto bound = graph.with_symbol(symbol, Dim(41));
    EXPECT_TRUE(bound.ok()) << bound.status().error().to_string();
    if (bound.ok()) graph = std::move(bound).value();
  }
  return graph;
}

class Models : public ::testing::TestWithParam<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Models);

TEST_P(Models, LoadAndReadBackTheirWrittenForm) {
  auto loaded = load(GetParam(), ops::op_table());
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  ASSERT_FALSE(loaded->outputs.empty());

  const auto path = std::filesystem::path(::testing::TempDir()) /
                    ("rill_models_" + test_name({GetParam(), 0}) + ".nnef.tar");
  const Status status = save(*loaded, path.string(), Container::kTar);
  ASSERT_TRUE(status.ok()) << status.error().to_string();
  auto again = load(path.string(), ops::op_table());
  ASSERT_TRUE(again.ok()) << again.error().to_string() << "\n" << graph_text(*loaded).value();
  ASSERT_EQ(again->outputs.size(), loaded->outputs.size());
  for (size_t i = 0; i < loaded->outputs.size(); ++i) {
    EXPECT_EQ(again->fact(again->outputs[i]).to_string(),
              loaded->fact(loaded->outputs[i]).to_string());
    EXPECT_EQ(again->output_names[i], loaded->output_names[i]);
  }
  if (node_texts(loaded->compacted()) != node_texts(again->compacted())) {
    // Loading asserts the assumptions of operators, such as a stream of at least one frame. In the
    // written file, these assertions precede all nodes and may simplify extents, so compare with
    // numbers in place of symbols. No bound of a slice is open then.
    std::vector<std::string> left = node_texts(in_numbers(*loaded).compacted());
    for (std::string& text : left) {
      constexpr std::string_view kOpen = " open=true";
      if (text.ends_with(kOpen)) text.resize(text.size() - kOpen.size());
    }
    EXPECT_EQ(left, node_texts(in_numbers(*again).compacted()));
  }
  std::filesystem::remove(path);
}

std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> out;
  for (const Node& node : graph.nodes) out.push_back(node.name);
  return out;
}

TEST_P(Models, RewritingComesToAnEnd) {
  auto loaded = load(GetParam(), ops::op_table());
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  Graph graph = *std::move(loaded);
  for (const std::string& symbol : graph.scope.symbols()) {
    auto bound = graph.with_symbol(symbol, Dim(64));
    if (bound.ok()) graph = *std::move(bound);
  }
  const Graph simple = declutter(graph).value();
  EXPECT_EQ(names(declutter(simple, 1).value()), names(simple));
  const Graph fused = fuse(simple).value();
  EXPECT_EQ(names(fuse(fused, 1).value()), names(fused));
}

TEST(Dims, ReadBackWithTheirValuesForAllComparisons) {
  const Dim s = Dim::symbol("S");
  const Dim b = Dim::symbol("B");
  const auto path = std::filesystem::path(::testing::TempDir()) / "rill_dims.nnef.tar";
  for (const Dim& dim :
       {ge(s, b) * b + Dim(1), eq(s + Dim(1), b) * s, broadcast(s, b),
        broadcast(s - Dim(1), s) * Dim(3) + b, broadcast(broadcast(s, b), floor_div(s, 2))}) {
    Graph graph;
    graph.name = "g";
    for (const char* symbol : {"S", "B"}) graph.scope.declare(symbol);
    const OutletId one = graph.add_source("one", Fact::of(DType::kF32, {Dim(1)}));
    auto op = std::make_shared<const ops::Broadcast>(std::vector<Dim>{dim});
    graph.add_output("y", graph.add("y", std::move(op), {one}).value()[0]);
    const Status status = save(graph, path.string(), Container::kTar);
    ASSERT_TRUE(status.ok()) << status.error().to_string();
    auto again = load(path.string(), ops::op_table());
    ASSERT_TRUE(again.ok()) << again.error().to_string() << graph_text(graph).value();
    const Dim& read = again->fact(again->outputs[0]).shape[0];
    for (int64_t of_s = 0; of_s < 7; ++of_s) {
      for (int64_t of_b = 0; of_b < 7; ++of_b) {
        const Bindings at{{"S", of_s}, {"B", of_b}};
        if (!dim.eval(at)) continue;
        EXPECT_EQ(read.eval(at), dim.eval(at)) << dim.to_string() << " at " << of_s << ", " << of_b;
      }
    }
  }
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Archives, Models, ::testing::ValuesIn(archives()), test_name);

}  // namespace
}  // namespace rill::nnef
