// The comparison of streams with whole runs can fail: it detects a delay that is off by one, a
// missing delay or mask, and a wrong reported delay.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/stream/delay.h"
#include "ops/stream/mask.h"
#include "tests/property/generate.h"
#include "tests/property/streaming.h"

namespace rill::test {
namespace {

enum class Kind : uint8_t { kDelay, kMask };

struct Mutant {
  Kind kind = Kind::kDelay;
  std::string what;
  Graph graph;
};

/// More frames than any stream of these tests.
constexpr int64_t kNever = int64_t{1} << 40;

template <class T, class Change>
Mutant changed(const Graph& graph, Kind kind, size_t node, std::string_view what, Change change) {
  Mutant out{kind, str_cat(graph.nodes[node].name, ": ", what), graph};
  auto op = std::make_shared<T>(static_cast<const T&>(*graph.nodes[node].op));
  change(op.get());
  out.graph.nodes[node].op = std::move(op);
  return out;
}

/// Add mutants of one node whose delay is off by one or removed.
void add_delays(const Graph& graph, size_t node, std::vector<Mutant>* out) {
  const auto* delay = graph.nodes[node].op->as<ops::Delay>();
  if (!delay) return;
  const auto set = [&](int64_t frames, std::string_view what) {
    out->push_back(changed<ops::Delay>(graph, Kind::kDelay, node, what,
                                       [&](ops::Delay* op) { op->delay = frames; }));
  };
  set(delay->delay + 1, "a frame more");
  if (delay->delay > 0) set(delay->delay - 1, "a frame less");
  if (delay->delay > 1) set(0, "no sync");
}

/// Add mutants of one node whose mask begins or ends late, or never.
void add_masks(const Graph& graph, size_t node, std::vector<Mutant>* out) {
  const auto* mask = graph.nodes[node].op->as<ops::PulseMask>();
  if (!mask) return;
  const auto change = [&](std::string_view what, const std::function<void(ops::PulseMask*)>& how) {
    out->push_back(changed<ops::PulseMask>(graph, Kind::kMask, node, what, how));
  };
  const auto end = mask->end.as_int();
  const auto begin = mask->begin.as_int();
  if (!end.ok() || *end < kNever) {
    change("no end", [](ops::PulseMask* op) { op->end = Dim(kNever); });
    change("a late end", [](ops::PulseMask* op) { op->end = op->end + Dim(1); });
    change("an early end", [](ops::PulseMask* op) { op->end = op->end - Dim(1); });
  }
  if (!begin.ok() || *begin > 0) {
    change("no beginning", [](ops::PulseMask* op) { op->begin = 0; });
    change("a late beginning", [](ops::PulseMask* op) { op->begin = op->begin + Dim(1); });
  }
}

std::vector<Mutant> mutants_of(const Graph& pulsed) {
  std::vector<Mutant> out;
  for (size_t node = 0; node < pulsed.nodes.size(); ++node) {
    add_delays(pulsed, node, &out);
    add_masks(pulsed, node, &out);
  }
  Mutant late{Kind::kDelay, "the reported delay: a frame more", pulsed};
  ++late.graph.streaming->outputs[0].delay;
  out.push_back(std::move(late));
  return out;
}

/// Return lengths at which the whole graph gives frames.
std::vector<int64_t> lengths_of(const Graph& graph, int64_t pulse) {
  std::vector<int64_t> out;
  for (const int64_t length : {5 * pulse + 1, 4 * pulse, 7 * pulse - 1, pulse, int64_t{17},
                               int64_t{30}, 12 * pulse + 3, int64_t{1}, int64_t{2}, int64_t{3}}) {
    if (!is_too_short(graph, length) && WholeRun::make(graph, length).ok()) out.push_back(length);
  }
  return out;
}

bool is_found_out(const Graph& graph, StreamedRun* streamed, const std::vector<int64_t>& lengths) {
  return std::any_of(lengths.begin(), lengths.end(), [&](int64_t length) {
    return !stream_problem(graph, streamed, length).empty();
  });
}

struct Count {
  int all = 0, alive = 0;
};

/// Count the mutants of a seed at a pulse, by kind.
void count_mutants(uint64_t seed, const Graph& graph, int64_t pulse, Count* counts) {
  auto streamed = StreamedRun::make(graph, pulse);
  const std::vector<int64_t> lengths = lengths_of(graph, pulse);
  if (!streamed.ok() || lengths.empty()) return;
  ASSERT_FALSE(is_found_out(graph, &*streamed, lengths)) << "seed " << seed;
  for (Mutant& mutant : mutants_of(streamed->graph())) {
    auto run = streamed->through(std::move(mutant.graph));
    Count& count = counts[static_cast<size_t>(mutant.kind)];
    ++count.all;
    if (!run.ok() || is_found_out(graph, &*run, lengths)) continue;
    ++count.alive;
    if (mutant.kind == Kind::kMask) continue;
    std::printf("seed %d, pulse %d: %s\n", int(seed), int(pulse), mutant.what.c_str());
  }
}

TEST(Mutants, AreDetected) {
  Count counts[2];
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Generated generated = generate(recipe(seed));
    if (generated.tolerance > 0) continue;
    auto graph = load_text(generated.text);
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    count_mutants(seed, *graph, generated.pulse_unit, counts);
    count_mutants(seed, *graph, 3 * generated.pulse_unit, counts);
  }
  const auto [delays, masks] = counts;
  std::printf("delays: %d mutants, %d alive; masks: %d, %d alive\n", delays.all, delays.alive,
              masks.all, masks.alive);
  // Two survive, both equivalent: each changes the delay of a wire that is subtracted from itself.
  EXPECT_GT(delays.all, 400);
  EXPECT_LE(delays.alive, 2);
  // Some masks are redundant: another mask or a later slice removes the same frames.
  EXPECT_GT(masks.all, 200);
  EXPECT_LE(masks.alive * 4, masks.all);
}

}  // namespace
}  // namespace rill::test
