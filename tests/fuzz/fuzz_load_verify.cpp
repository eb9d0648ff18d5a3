// The input is the text of a graph, usually well formed: audit its streams, compare them on inputs,
// and prove least delays. No graph may crash these functions, and no stream may differ from its
// whole run.

#include "audit/audit.h"
#include "kernels/cpu.h"
#include "pulse/least_delay.h"
#include "pulse/pulse.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/text_graph.h"

using namespace rill;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kernels::set_tier_limit(kernels::Tier::kScalar);
  auto graph = test::graph_of_text(test::text_of(data, size));
  if (!graph.ok() || !test::is_small(*graph)) return 0;
  for (const char* symbol : {"B", "P"}) {
    if (graph.ok()) graph = graph->with_symbol(symbol, Dim(2));
  }
  if (!graph.ok()) return 0;
  pulse::Options options;
  options.pulse = Dim(4);
  pulse::Report streams;
  const auto pulsed = pulse::pulsify(*graph, options, &streams);
  if (!pulsed.ok()) return 0;
  test::expect_explained(pulse::least_delays(*graph, options, streams, {0.1}));
  audit::Options how;
  how.seconds = 0.2;
  how.lengths = 12;
  how.longest = 64;
  how.session_bytes = int64_t{1} << 26;
  const auto report = audit::audit(*graph, *pulsed, how);
  test::expect_explained(report);
  if (report.ok() && report->finding) test::finding(report->finding->to_string());
  return 0;
}
