// Any text as a graph, well formed as a rule: load, simplify, pulse, prepare, run, stream, write.

#include <algorithm>
#include <cstring>

#include "core/exec/plan.h"
#include "core/exec/session.h"
#include "core/optim/optim.h"
#include "kernels/cpu.h"
#include "nnef_loader/build/load_entries.h"
#include "nnef_loader/tensor_file/tensor_file.h"
#include "ops/op_table.h"
#include "pulse/pulse.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/target.h"

using namespace rill;

namespace {

/// Keeps a run short: no wire of more elements than this.
constexpr int64_t kMaxVolume = 4096;
constexpr int64_t kMaxElementsOfAll = int64_t{1} << 18;

/// Every `variable` whose label is a plain word gets ramps of these shapes.
std::vector<nnef::Entry> entries_of(std::string_view text) {
  std::vector<nnef::Entry> entries(1);
  entries[0].name = "graph.nnef";
  entries[0].bytes.resize(text.size());
  if (!text.empty()) std::memcpy(entries[0].bytes.data(), text.data(), text.size());
  for (const test::Variable& variable : test::variables_of(text)) {
    auto tensor = Tensor::zeros(DType::kF32, variable.shape);
    if (!tensor.ok() || tensor->volume() > kMaxVolume) continue;
    for (int64_t i = 0; i < tensor->volume(); ++i) {
      tensor->mutable_data<float>()[i] = static_cast<float>(i % 7) * 0.25F - 0.5F;
    }
    auto bytes = nnef::write_tensor(*tensor);
    if (bytes.ok()) entries.push_back({variable.label + ".dat", *std::move(bytes)});
  }
  return entries;
}

bool is_small(const Graph& graph) {
  int64_t all = 0;
  for (const Node& node : graph.nodes) {
    for (const Fact& fact : node.outputs) {
      const auto count = volume(fact.shape).eval({{"S", 5}, {"B", 2}, {"P", 3}});
      if (!count || *count > kMaxVolume || *count < 0) return false;
      all += *count;
    }
  }
  return all <= kMaxElementsOfAll;
}

void run(const Graph& graph, int steps) {
  if (!is_small(graph)) return;
  const auto plan = prepare(graph);
  test::expect_explained(plan);
  if (!plan.ok()) return;
  const auto session = Session::make(*plan);
  test::expect_explained(session);
  if (!session.ok()) return;
  for (int i = 0; i < steps; ++i) {
    if (i + 1 == steps) (*session)->announce_end(4 * i + 3);
    (*session)->step();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kernels::set_tier_limit(kernels::Tier::kScalar);
  const std::string_view text = test::text_of(data, size);
  const auto graph = nnef::load_entries(entries_of(text), ops::op_table());
  test::expect_explained(graph);
  if (!graph.ok()) return 0;
  const auto written = nnef::graph_text(*graph);
  test::expect_explained(written);
  pulse::Options options;
  options.pulse = Dim(4);
  const auto pulsed = pulse::pulsify(*graph, options);
  test::expect_explained(pulsed);
  if (pulsed.ok()) run(*pulsed, 3);
  Result<Graph> bound = *graph;
  for (const char* symbol : {"S", "B", "P"}) {
    if (bound.ok()) bound = bound->with_symbol(symbol, Dim(symbol[0] == 'S' ? 5 : 2));
  }
  test::expect_explained(bound);
  if (!bound.ok() || !is_small(*bound)) return 0;
  const auto simple = declutter(*bound);
  test::expect_explained(simple);
  if (simple.ok()) run(*simple, 1);
  return 0;
}
