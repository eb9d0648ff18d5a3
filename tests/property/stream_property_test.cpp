// A streamed run gives the whole run's frames after the reported delay, bit for bit, for every
// pulse and length, or the graph is refused. The graphs are random.
//
// RILL_PROPERTY_SEEDS=first:count selects other seeds.

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "kernels/cpu.h"
#include "tests/property/generate.h"
#include "tests/property/seeds.h"
#include "tests/property/streaming.h"

namespace rill::test {
namespace {

constexpr int64_t kFirstSeed = 1;
constexpr int64_t kSeeds = 300;

struct Outcome {
  std::string problem;   ///< empty if all is well
  std::string refusal;   ///< the reason why no pulse was legal
  int64_t compared = 0;  ///< lengths at which frames were compared
};

std::vector<int64_t> pulses_of(const Recipe& recipe, int64_t unit) {
  Random random(recipe.seed * 1000 + 997);
  const int64_t small = unit * random.in(1, 3);
  const int64_t large = unit * random.in(4, 11);
  return {unit, small, large};
}

std::set<int64_t> lengths_of(const Recipe& recipe, int64_t pulse) {
  Random random(recipe.seed * 1000 + 996);
  std::set<int64_t> lengths = {1, 2, pulse, pulse + 1, 2 * pulse, 3 * pulse + random.in(0, pulse)};
  for (int i = 0; i < 3; ++i) lengths.insert(random.in(1, 4 * pulse + 30));
  if (pulse > 1) lengths.insert(pulse - 1);
  return lengths;
}

/// Return the tier of a seed: the best tier twice, then each lower tier in turn.
kernels::Tier tier_of(uint64_t seed) {
  constexpr kernels::Tier kTiers[] = {kernels::Tier::kNeon, kernels::Tier::kNeon,
                                      kernels::Tier::kAvx2, kernels::Tier::kSse42,
                                      kernels::Tier::kScalar};
  return kTiers[seed % 5];
}

Outcome check(const Recipe& recipe) {
  Outcome out;
  kernels::set_tier_limit(tier_of(recipe.seed));
  const Generated generated = generate(recipe);
  auto loaded = load_text(generated.text);
  if (!loaded.ok()) {
    out.refusal = loaded.error().to_string();
    return out;
  }
  const Graph& graph = *loaded;
  for (const int64_t pulse : pulses_of(recipe, generated.pulse_unit)) {
    auto streamed = StreamedRun::make(graph, pulse);
    if (!streamed.ok()) {
      out.refusal = streamed.error().to_string();
      if (streamed.error().code != Code::kPulse) out.problem = out.refusal;
      continue;
    }
    for (const int64_t length : lengths_of(recipe, pulse)) {
      if (is_too_short(graph, length)) continue;
      ++out.compared;
      const std::string problem = stream_problem(graph, &*streamed, length, generated.tolerance);
      if (problem.empty()) continue;
      out.problem = str_cat("pulse ", pulse, ", length ", length, ": ", problem);
      return out;
    }
  }
  return out;
}

bool fails(const Recipe& recipe) { return !check(recipe).problem.empty(); }

TEST(RandomGraph, StreamsTheBitsOfTheWholeRun) {
  const auto [first, count] = seeds_or(kFirstSeed, kSeeds);
  int64_t refused = 0;
  int64_t compared = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    const Outcome outcome = check(recipe(static_cast<uint64_t>(seed)));
    compared += outcome.compared;
    if (outcome.compared == 0) ++refused;
    if (outcome.compared == 0 && std::getenv("RILL_PROPERTY_VERBOSE")) {
      std::printf("seed %ld: %s\n", static_cast<long>(seed), outcome.refusal.c_str());
    }
    if (outcome.problem.empty()) continue;
    const Recipe small = shrunk(recipe(static_cast<uint64_t>(seed)), fails);
    ADD_FAILURE() << "seed " << seed << ": " << check(small).problem << "\n"
                  << generate(small).text;
  }
  kernels::clear_tier_limit();
  RecordProperty("refused", static_cast<int>(refused));
  RecordProperty("compared", static_cast<int>(compared));
  // A larger share would mean that the generator draws graphs that cannot stream.
  if (count >= 100) {
    EXPECT_LE(refused * 100, count * 5);
  }
  std::printf("%ld graphs, %ld without a comparison, %ld comparisons\n", static_cast<long>(count),
              static_cast<long>(refused), static_cast<long>(compared));
}

}  // namespace
}  // namespace rill::test
