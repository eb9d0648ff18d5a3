// The input is the text of a graph, usually well formed: load, simplify, pulse, prepare, run,
// stream, write.

#include "core/exec/plan.h"
#include "core/exec/session.h"
#include "core/optim/optim.h"
#include "kernels/cpu.h"
#include "pulse/pulse.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/text_graph.h"

using namespace rill;

namespace {

void run(const Graph& graph, int steps) {
  if (!test::is_small(graph)) return;
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
  const auto graph = test::graph_of_text(text);
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
  if (!bound.ok() || !test::is_small(*bound)) return 0;
  const auto simple = declutter(*bound);
  test::expect_explained(simple);
  if (simple.ok()) run(*simple, 1);
  return 0;
}
