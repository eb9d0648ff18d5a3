// The delay of an output of a random graph is the least that its dependence on later frames allows,
// except downstream of the nodes in `kExcuses`.
//
// RILL_PROPERTY_SEEDS=first:count selects other seeds.

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "core/base/search.h"
#include "pulse/least_delay.h"
#include "pulse/pulse.h"
#include "tests/property/generate.h"
#include "tests/property/seeds.h"
#include "tests/property/streaming.h"
#include "tests/property/typed.h"
#include "tests/property/wide.h"

namespace rill::test {
namespace {

constexpr int64_t kFirstSeed = 1;
constexpr int64_t kSeeds = 300;
constexpr int64_t kWideSeeds = 120;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();  ///< no clock ends a proof

/// An operator of the pulsed graph whose nodes, or nodes downstream of them, may have more than the
/// least delay.
struct Excuse {
  const char* op;
  const char* reason;
};

constexpr Excuse kExcuses[] = {
    {"Attention", "it has no known first frames, and begins with its first query"},
    {"Resize", "it has no known first frames"},
    {"Scan", "a loop visits every frame once, so it begins when the first one is valid"},
    {"CumSum", "it is a loop: see Scan"},
    {"Deconv", "frames of one window wait together, and those in its gaps depend on no input"},
    {"SumPool", "an average without padding counts frames, beginning with the first one"},
    {"MaxPool", "windows of padding alone have no value"},
    {"Reshape", "frames that are merged or split wait together"},
    {"Slice", "rows of a table have no frames before the first one"},
    {"AddAxis", "positions have no frames before the first one"},
    {"Softmax", "the softmax of one channel is 1, which hides the dependence"},
    {"Tanh", "a saturated value hides the dependence"},
    {"Max", "a closed rectifier hides the dependence"},
    {"Reduce", "a frame minus the mean of its one channel is 0"},
};

/// Return the delay of each wire beyond the proven least one, in frames of the stream symbol. Where
/// nothing is proven, return the largest of its inputs.
std::vector<double> losses(const pulse::Report& report, const pulse::LeastDelays& least,
                           int64_t pulse) {
  std::vector<double> out;
  for (size_t i = 0; i < report.wires.size(); ++i) {
    const pulse::Wire& wire = report.wires[i];
    double lost = 0;
    for (const int input : wire.inputs) lost = std::max(lost, out[static_cast<size_t>(input)]);
    const double unit = static_cast<double>(pulse) / static_cast<double>(wire.pulse);
    if (least.wires[i]) lost = static_cast<double>(wire.delay - *least.wires[i]) * unit;
    out.push_back(lost);
  }
  return out;
}

/// Return whether a node pads or joins a wire that lags, so that downstream wires wait for its
/// first frames.
bool is_upstream_of_wait(const pulse::Report& report, const pulse::Wire& wire) {
  if (wire.op != "Pad" && wire.op != "Concat") return false;
  return any_of(wire.inputs,
                [&](int input) { return report.wires[static_cast<size_t>(input)].delay > 0; });
}

/// Return whether a node reads one lagging wire and lags more than that wire: then it waits for a
/// kept frame of the wire, which is stored when it arrives.
bool waits_for_kept(const pulse::Report& report, const pulse::Wire& wire) {
  if (wire.inputs.size() != 1 || (wire.op != "Mul" && wire.op != "Sub")) return false;
  const int64_t read = report.wires[static_cast<size_t>(wire.inputs[0])].delay;
  return read > 0 && wire.delay > read;
}

/// Return whether every node that loses delay, or a node upstream of it, is excused.
bool is_excused(const pulse::Report& report, const std::vector<double>& lost) {
  std::vector<char> excused_wires(report.wires.size(), 0);
  for (size_t i = 0; i < report.wires.size(); ++i) {
    const pulse::Wire& wire = report.wires[i];
    double before = 0;
    bool excused = is_upstream_of_wait(report, wire) || waits_for_kept(report, wire) ||
                   any_of(kExcuses, [&](const Excuse& each) { return wire.op == each.op; });
    for (const int input : wire.inputs) {
      before = std::max(before, lost[static_cast<size_t>(input)]);
      excused |= excused_wires[static_cast<size_t>(input)] != 0;
    }
    excused_wires[i] = excused ? 1 : 0;
    // A wire with delay 0 loses nothing: its frames are known from the start, and windows find them
    // in their history.
    const bool has_no_delay = wire.delay == 0;
    if (lost[i] > before && !excused && !has_no_delay) return false;
  }
  return true;
}

struct Outcome {
  std::string late;  ///< the first output that lags, empty if none does
  bool excused = false;
  int64_t compared = 0;
};

/// Compare the delays of a graph with the least ones, at two pulses.
Outcome check_graph(const Graph& graph, const std::string& text, int64_t unit) {
  Outcome out;
  for (const int64_t pulse : {unit, 3 * unit}) {
    pulse::Options options;
    options.pulse = Dim(pulse);
    pulse::Report report;
    const auto pulsed = pulse::pulsify(graph, options, &report);
    if (!pulsed.ok()) continue;
    const auto least = pulse::least_delays(graph, options, report, {kNoLimit});
    if (!least.ok()) continue;
    for (size_t i = 0; i < report.outputs.size(); ++i) {
      const auto& known = least->outputs[i];
      if (report.outputs[i].axis < 0 || !known) continue;
      ++out.compared;
      // A delay below the least one would be wrong.
      EXPECT_GE(report.outputs[i].delay, *known) << text;
      if (report.outputs[i].delay == *known) continue;
      out.late = str_cat("pulse ", pulse, ": output ", i, " lags ", report.outputs[i].delay,
                         " frames, where ", *known, " are proven");
      out.excused = is_excused(report, losses(report, *least, pulse));
      return out;
    }
  }
  return out;
}

Outcome check(const Recipe& recipe) {
  const Generated generated = generate(recipe);
  const auto graph = load_text(generated.text);
  if (!graph.ok()) return {};
  return check_graph(*graph, generated.text, generated.pulse_unit);
}

bool fails(const Recipe& recipe) { return !check(recipe).late.empty(); }

TEST(RandomGraph, LagsNoMoreThanItsFramesNeed) {
  const auto [first, count] = seeds_or(kFirstSeed, kSeeds);
  int64_t compared = 0;
  int64_t excused = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    const Outcome outcome = check(recipe(static_cast<uint64_t>(seed)));
    compared += outcome.compared;
    if (outcome.late.empty()) continue;
    const Recipe small = shrunk(recipe(static_cast<uint64_t>(seed)), fails);
    if (check(small).excused) {
      ++excused;
      continue;
    }
    ADD_FAILURE() << "seed " << seed << ": " << check(small).late << "\n" << generate(small).text;
  }
  if (count >= 100) {
    EXPECT_GE(compared, count);
    EXPECT_LE(excused * 100, count * 9);
  }
  std::printf("%ld graphs, %ld outputs compared, %ld graphs excused\n", static_cast<long>(count),
              static_cast<long>(compared), static_cast<long>(excused));
}

/// Counts graphs with more than the least delay, and the excused ones among these. A few graphs
/// with large numbers are not excused: their kept frames lie far into the stream, and padding waits
/// with them. The share of these graphs must not grow.
struct Tally {
  int64_t graphs = 0;
  int64_t compared = 0;
  int64_t excused = 0;
  int64_t late = 0;

  void add(const Outcome& outcome, uint64_t seed, const std::string& text) {
    graphs += outcome.compared > 0 ? 1 : 0;
    compared += outcome.compared;
    if (outcome.late.empty()) return;
    (outcome.excused ? excused : late) += 1;
    if (outcome.excused) return;
    std::printf("seed %ld: %s\n%s", static_cast<long>(seed), outcome.late.c_str(), text.c_str());
  }
  void print(const char* kind) const {
    std::printf("%s: %ld graphs, %ld outputs compared, %ld graphs excused, %ld others late\n", kind,
                static_cast<long>(graphs), static_cast<long>(compared), static_cast<long>(excused),
                static_cast<long>(late));
  }
};

TEST(RandomGraph, OfOtherTypesLagsNoMoreThanItsFramesNeed) {
  const auto [first, count] = seeds_or(kFirstSeed, kSeeds);
  Tally tally;
  for (int64_t seed = first; seed < first + count; ++seed) {
    const TypedGraph drawn = typed_graph(static_cast<uint64_t>(seed));
    const auto graph = load_typed(drawn);
    if (!graph.ok()) continue;
    const auto unit = pulse::least_pulse(*graph, {});
    if (!unit.ok()) continue;
    tally.add(check_graph(*graph, drawn.text, *unit), static_cast<uint64_t>(seed), drawn.text);
  }
  tally.print("typed");
  EXPECT_EQ(tally.late, 0);
}

TEST(RandomGraph, OfLargeNumbersLagsNoMoreThanItsFramesNeed) {
  const auto [first, count] = seeds_or(kFirstSeed, kWideSeeds);
  Tally tally;
  for (int64_t seed = first; seed < first + count; ++seed) {
    const auto number = static_cast<uint64_t>(seed);
    const std::string text = wide_graph(wide_recipe(number));
    const auto graph = load_text(text);
    if (!graph.ok()) continue;
    const auto unit = pulse::least_pulse(*graph, {});
    if (!unit.ok()) continue;
    tally.add(check_graph(*graph, text, *unit), number, text);
  }
  tally.print("wide");
  EXPECT_LE(tally.late * 100, tally.graphs * 4);
}

}  // namespace
}  // namespace rill::test
