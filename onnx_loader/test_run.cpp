#include "onnx_loader/test_run.h"

#include <gtest/gtest.h>

#include "onnx_loader/load.h"
#include "ops/math/test_support.h"
#include "ops/onnx_table.h"
#include "ops/op_table.h"

namespace rill::onnx {

Result<Graph> loaded(const Message& model) {
  return load_memory(model.span(), {ops::op_table(), ops::onnx_table()});
}

std::vector<float> run_on(const Message& model, const std::vector<float>& x) {
  auto graph = loaded(model);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().to_string());
  if (!graph.ok()) return {};
  const auto frames = static_cast<int64_t>(x.size()) / 3;
  const auto out = ops::test::run(*graph, {ops::test::f32({frames, 3}, x)});
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().to_string());
  if (!out.ok()) return {};
  const auto values = out->front().values<float>();
  return {values.begin(), values.end()};
}

std::string refused(const Message& model) {
  const auto graph = loaded(model);
  return graph.ok() ? "loaded" : graph.error().to_string();
}

}  // namespace rill::onnx
