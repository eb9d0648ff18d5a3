#include <gtest/gtest.h>

#include "nnef_loader/archive/test_support.h"
#include "nnef_loader/build/test_ops.h"

namespace rill::nnef {
namespace {

using namespace test;  // NOLINT: the helpers of these tests

/// A model of one input, [N, 3], that adds its own weight.
constexpr const char* kInner =
    "version 1.0;\nextension tract_symbol N;\ngraph inner(a) -> (b, c) {\n"
    " a = external<scalar>(shape = [N, 3]);\n w = variable<scalar>(label = 'w', shape = [1, 3]);\n"
    " b = add(a, w);\n c = mul(a, a);\n}\n";
constexpr const char* kOuter =
    "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"
    "graph outer(x) -> (y, z) {\n x = external<scalar>(shape = [S, 3]);\n"
    " (y, z) = tract_core_submodel([x], label = 'part');\n}\n";

std::vector<Entry> folder() {
  Entry weight = tensor_file("part/w", floats({1, 3}, {1, 2, 3}));
  return {file("part/graph.nnef", kInner), weight, file("particle/w.dat", "junk")};
}

TEST(Submodel, OfAFolderBecomesItsNodes) {
  const Graph g = loaded(load_text(kOuter, folder()));
  ASSERT_EQ(g.outputs.size(), 2U);
  EXPECT_EQ(g.inputs.size(), 1U);
  EXPECT_EQ(g.fact(g.outputs[0]).to_string(), "S,3,F32");
  EXPECT_NE(node_list(g).find("y_b:"), std::string::npos) << node_list(g);
  EXPECT_EQ(g.fact(g.node(g.outputs[0].node).inputs[1]).konst->values<float>()[2], 3.0F);
}

using SubmodelFile = InFolder;

TEST_F(SubmodelFile, OfAnArchiveIsFoundByItsLabel) {
  const std::string path = this->path("part.tar");
  std::vector<Entry> files = {file("graph.nnef", kInner),
                              tensor_file("w", floats({1, 3}, {1, 2, 3}))};
  for (const char* name : {"part.nnef.tar", "part.v2.nnef.tar", "part.nnef.tgz"}) {
    const bool gz = std::string_view(name).ends_with("tgz");
    ASSERT_TRUE(write_archive(path, gz ? Container::kTgz : Container::kTar, files).ok());
    auto bytes = read_file(path, 1 << 20);
    ASSERT_TRUE(bytes.ok());
    const Graph g = loaded(load_text(kOuter, {Entry{name, std::move(bytes).value()}}));
    EXPECT_EQ(g.outputs.size(), 2U) << name;
  }
}

TEST_F(SubmodelFile, IsKeptWhereThatIsAskedForAndWrittenAsAFolder) {
  LoadOptions options;
  options.keep_submodels = true;
  const Graph g = loaded(load_text(kOuter, folder(), options));
  ASSERT_EQ(node_list(g), "x:Source part:SubmodelOp");
  EXPECT_EQ(g.fact(g.outputs[1]).to_string(), "S,3,F32");
  const std::string path = this->path("kept.tar");
  ASSERT_TRUE(save(g, path, Container::kTar).ok());
  auto entries = read_archive(path);
  ASSERT_TRUE(entries.ok());
  std::vector<std::string> names;
  for (const Entry& entry : *entries) names.push_back(entry.name);
  EXPECT_EQ(join(names, " "), "graph.nnef part/graph.nnef");
  const auto again = load(path, ops());
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(again->fact(again->outputs[1]).to_string(), "S,3,F32");
  EXPECT_EQ(again->fact(again->node(again->outputs[0].node).inputs[1]).konst->values<float>()[2],
            3.0F);
}

TEST(Submodel, ErrorsNameTheModelAndTheMismatch) {
  expect_error(load_text(kOuter), {"graph.nnef:6", "No model \"part\"", "part.nnef.tgz"});
  std::vector<Entry> broken = {file("part/graph.nnef", "version 1.0;\ngraph x( -> ")};
  expect_error(load_text(kOuter, broken), {"model \"part\"", "graph.nnef:2"});
  std::string outer = kOuter;
  outer.replace(outer.find("[S, 3]"), 6, "[S, 4]");
  expect_error(load_text(outer, folder()), {"input \"a\" of the model is", "S,4,F32"});
  outer = kOuter;
  outer.replace(outer.find("[x]"), 3, "[x, x]");
  expect_error(load_text(outer, folder()), {"has 1 input, found 2"});
}

TEST(Submodel, MayHoldModelsButNotWithoutEnd) {
  std::string text =
      "version 1.0; extension tract_registry tract_core; graph g(x) -> (y) {"
      " x = external<scalar>(shape = [2, 3]); y = tract_core_submodel([x], label = 'part'); }";
  std::vector<Entry> files;
  std::string at = "part";
  for (int depth = 0; depth < 12; ++depth, at += "/part") {
    files.push_back(file(at + "/graph.nnef", text));
  }
  expect_error(load_text(text, files), {"nested over"});
}

std::string with_resource(std::string_view key) {
  return str_cat(
      "version 1.0;\nextension tract_registry tract_core;\nextension tract_registry "
      "tract_resource;\n"
      "graph g(x) -> (y) {\n x = external<scalar>(shape = [2, 3]);\n"
      " y = unsqueeze(x, axes = [tract_resource_get('config', '",
      key, "')]);\n}\n");
}

TEST(ResourceGet, GivesValuesToAttributes) {
  const Entry config = file("config.json", R"({"axes": {"list": [0, 2]}, "name": null})");
  const Graph g = loaded(load_text(with_resource("$.axes.list[1]"), {config}));
  EXPECT_EQ(g.fact(g.outputs[0]).to_string(), "2,3,1,F32");
  expect_error(load_text(with_resource("$.axes.list[2]"), {config}), {"no \"$.axes.list[2]\""});
  expect_error(load_text(with_resource("$.name"), {config}), {"null has no value"});
  expect_error(load_text(with_resource("$.axes"), {config}), {"an object has no value"});
  expect_error(load_text(with_resource("axes"), {config}), {"path \"axes\""});
  expect_error(load_text(with_resource("$"), {}), {"No resource \"config\"", "config.json"});
  expect_error(load_text(with_resource("$"), {file("config.json", "{\n,")}), {"config.json:2"});
}

}  // namespace
}  // namespace rill::nnef
