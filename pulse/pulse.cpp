#include "pulse/pulse.h"

#include <numeric>
#include <utility>

#include "core/base/limits.h"
#include "core/base/progress.h"
#include "core/exec/input_indices.h"
#include "ops/built.h"
#include "pulse/before/long_streams.h"
#include "pulse/pulsifier.h"
#include "pulse/refusals.h"
#include "pulse/short_streams.h"
#include "pulse/sliding.h"

namespace rill::pulse {
namespace {

/// The share of the progress that the first pass over the nodes gets; a second pass may follow.
constexpr double kFirstRun = 0.6;

std::vector<int64_t> all_read(const Ready& ready) {
  return std::vector<int64_t>(ready.whole.nodes.size(), 0);
}

/// Find a legal pulse: start at `unit`; while a node refuses the pulse, continue with the multiple
/// that its refusal requires.
Result<int64_t> unit_of(const Ready& ready, Options options, int64_t unit) {
  constexpr int kTries = 64;
  Status refusal;
  for (int i = 0; i < kTries; ++i) {
    options.pulse = Dim(unit);
    Pulsifier pulsifier(ready, options, all_read(ready));
    const auto pulsed = pulsifier.run(nullptr);
    if (pulsed.ok()) return unit;
    refusal = pulsed.status();
    if (pulsifier.unit() == 1) return refusal;
    const int64_t next = std::lcm(unit, pulsifier.unit());
    unit = next > unit ? next : unit + 1;
    if (unit > kMostPulse) return refusal;
  }
  return refusal;
}

Result<int64_t> least_pulse_of(const Graph& graph, const Options& options) {
  RILL_ASSIGN(const Ready ready, ready_for_pulses(graph, options));
  const auto unit = unit_of(ready, options, 1);
  if (unit.ok()) return unit;
  RILL_ASSIGN(const auto joined, with_front_keys(ready, options, true));
  return joined ? unit_of(*joined, options, 1) : unit;
}

Result<Graph> pulse_ready(const Ready& ready, const Options& options, Report* report) {
  Pulsifier pulsifier(ready, options, all_read(ready));
  const auto run = [&](Pulsifier* each, double begin, double end) {
    const ProgressPart part(begin, end);
    return each->run(report);
  };
  auto pulsed = run(&pulsifier, 0, kFirstRun);
  if (pulsed.ok()) {
    // Only now, with every node pulsed, is it known which frames are never read.
    auto unread = pulsifier.unread();
    if (!unread) return pulsed;
    Pulsifier again(ready, options, *std::move(unread));
    auto earlier = run(&again, kFirstRun, 1);
    return earlier.ok() ? std::move(earlier) : std::move(pulsed);
  }
  if (pulsifier.unit() == 1) return pulsed;
  // The first node that refuses the pulse hides later ones.
  const auto unit = unit_of(ready, options, pulsifier.unit());
  if (!unit.ok()) return pulsed;
  Error error = pulsed.error();
  error.hint = str_cat("Use a pulse that is a multiple of ", *unit);
  return error;
}

/// Return the sum of the delays of all outputs.
int64_t delays_of(const Graph& pulsed) {
  int64_t sum = 0;
  for (const StreamingOutput& output : pulsed.streaming->outputs) sum += output.delay;
  return sum;
}

/// Pulse with constant keys joined before the stream. Return that result if `first` was refused or
/// has larger delays; else `first`. Not inlined, to keep the stack of the first attempt small for
/// deep graphs.
[[gnu::noinline]] Result<Graph> pulse_front_keys(const Ready& ready, const Options& options,
                                                 Report* report, Result<Graph> first) {
  RILL_ASSIGN(const auto joined, with_front_keys(ready, options, !first.ok()));
  if (!joined) return first;
  Report own;
  auto other = pulse_ready(*joined, options, &own);
  if (first.ok() && (!other.ok() || delays_of(*other) >= delays_of(*first))) return first;
  if (report) *report = std::move(own);
  return other;
}

Result<Graph> pulse_nodes(const Graph& graph, const Options& options, Report* report) {
  RILL_ASSIGN(const Ready ready, ready_for_pulses(graph, options));
  return pulse_front_keys(ready, options, report, pulse_ready(ready, options, report));
}

/// As above, with negative extents clamped to 0.
Result<Graph> pulse_empty_extents(const Graph& graph, const Options& options, Report* report) {
  RILL_ASSIGN(Ready ready, ready_for_pulses(graph, options));
  RILL_TRY(clamp_empty_extents(&ready));
  return pulse_front_keys(ready, options, report, pulse_ready(ready, options, report));
}

/// Attempt a task for streams of any length. If it is refused, attempt it for streams that are no
/// longer than the tables of positions, then for streams of a least length.
template <class Try>
auto for_some_streams_at_least(const Graph& graph, const Options& options, const Try& attempt) {
  auto refused = attempt(graph);
  if constexpr (ops::built("long_streams")) {
    if (refused.ok() || graph.streaming) return refused;
    if (const auto bounded = of_streams_within_tables(graph, options.symbol)) {
      auto again = attempt(*bounded);
      if (again.ok() || wants_another_pulse(again.error())) return again;
    }
    const auto longer = of_long_streams(graph, options.symbol);
    if (!longer.ok() || !*longer) return refused;
    auto again = attempt(**longer);
    if (again.ok()) return again;
    // If only the pulse prevents streaming, report that.
    if (wants_another_pulse(again.error()) && least_pulse_of(**longer, options).ok()) return again;
  }
  return refused;
}

/// Correct the output lengths for an empty stream to those of a whole run: the pulsed graph
/// describes only streams of a frame or more.
void take_frames_of_nothing(const Graph& graph, std::string_view symbol, Streaming* streaming) {
  std::vector<Dim> lengths;
  for (const StreamingOutput& output : streaming->outputs) {
    lengths.push_back(output.axis >= 0 && output.length ? *output.length : Dim(kMostPulse));
  }
  lengths = lengths_from_nothing(graph, std::move(lengths), symbol);
  for (size_t i = 0; i < lengths.size(); ++i) {
    StreamingOutput& output = streaming->outputs[i];
    if (output.axis >= 0 && output.length) output.length = lengths[i];
  }
}

}  // namespace

Result<int64_t> least_pulse(const Graph& graph, const Options& options) {
  const ProgressStage stage(Stage::kPulse);
  auto least = for_some_streams_at_least(graph, options, [&](const Graph& each) {
    return least_pulse_of(each, options);
  });
  if (!least.ok()) return or_windows(graph, options.symbol, least.take_status());
  return least;
}

Result<Graph> pulsify(const Graph& graph, const Options& options, Report* report) {
  const ProgressStage stage(Stage::kPulse);
  const auto pulse = options.pulse.to_int();
  if (!pulse) {
    return fail(Code::kPulse, "pulse ", options.pulse, ": expected a number of frames");
  }
  if (*pulse < 1 || *pulse > kMostPulse) {
    return fail(Code::kPulse, "pulse ", *pulse, ": expected 1 to ", kMostPulse, " frames");
  }
  auto pulsed = for_some_streams_at_least(graph, options, [&](const Graph& each) {
    return pulse_nodes(each, options, report);
  });
  if (!pulsed.ok()) return or_windows(graph, options.symbol, pulsed.take_status());
  if constexpr (ops::built("long_streams")) {
    const auto again = [&](Report* own) { return pulse_empty_extents(graph, options, own); };
    take_empty_extents(graph, again, &*pulsed, report);
    take_streams_of_no_output(graph, &*pulsed);
  }
  take_frames_of_nothing(graph, options.symbol, &*pulsed->streaming);
  pulsed->streaming->indices = input_indices(graph);
  RILL_TRY(progress(1));
  return pulsed;
}

}  // namespace rill::pulse
