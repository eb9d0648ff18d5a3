// The input is an ONNX file: load, simplify, write, feed outputs back to inputs, prepare and run.

#include "core/exec/plan.h"
#include "core/exec/session.h"
#include "core/optim/optim.h"
#include "kernels/cpu.h"
#include "nnef_loader/load.h"
#include "onnx_loader/load.h"
#include "ops/onnx_table.h"
#include "ops/op_table.h"
#include "pulse/feedback.h"
#include "tests/fuzz/target.h"

using namespace rill;

namespace {

/// The largest number of elements of a wire, so that a run stays short.
constexpr int64_t kMaxVolume = 4096;
constexpr int64_t kMaxElementsOfAll = int64_t{1} << 18;

bool is_small(const Graph& graph) {
  int64_t all = 0;
  for (const Node& node : graph.nodes) {
    for (const Fact& fact : node.outputs) {
      const auto count = volume(fact.shape).to_int();
      if (!count || *count > kMaxVolume || *count < 0) return false;
      all += *count;
    }
  }
  return all <= kMaxElementsOfAll;
}

void run(const Result<Graph>& graph) {
  test::expect_explained(graph);
  if (!graph.ok() || !is_small(*graph)) return;
  const auto plan = prepare(*graph);
  test::expect_explained(plan);
  if (!plan.ok()) return;
  const auto session = Session::make(*plan);
  test::expect_explained(session);
  if (!session.ok()) return;
  for (int step = 0; step < 2; ++step) (*session)->step();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kernels::set_tier_limit(kernels::Tier::kScalar);
  onnx::LoadOptions options;
  options.limits.max_folded_bytes = int64_t{1} << 24;
  options.limits.max_nodes = 4096;
  Result<Graph> graph =
      onnx::load_memory(test::bytes_of(data, size), {ops::op_table(), ops::onnx_table()}, options);
  test::expect_explained(graph);
  if (!graph.ok()) return 0;
  const auto written = nnef::graph_text(*graph);
  test::expect_explained(written);
  for (const std::string& symbol : symbols_of(*graph)) {
    if (graph.ok()) graph = graph->with_symbol(symbol, Dim(3));
  }
  test::expect_explained(graph);
  if (!graph.ok() || !is_small(*graph)) return 0;
  run(declutter(*graph));
  if (graph->inputs.size() < 2 || graph->outputs.empty()) return 0;
  run(pulse::with_feedback(*graph, graph->output_names.back(), graph->input_name(1)));
  run(pulse::with_context(*graph, graph->input_name(0), 1));
  return 0;
}
