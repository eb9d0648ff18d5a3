// A streamed run gives the whole run's frames, or the graph is refused: on random graphs whose
// constants, lengths, batches and side inputs do not depend on the implementation.
//
// RILL_PROPERTY_SEEDS=first:count selects other seeds. RILL_FOUND names a folder for graphs that
// differ. RILL_PROPERTY_VERBOSE prints the reasons of refusals.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "audit/audit.h"
#include "audit/draw.h"
#include "pulse/pulse.h"
#include "tests/property/seeds.h"
#include "tests/property/streaming.h"
#include "tests/property/wide.h"
#include "tests/support/sanitized.h"

namespace rill::test {
namespace {

constexpr int64_t kFirstSeed = 1;
#if defined(RILL_SANITIZED)
constexpr int64_t kSeeds = 40;  // each takes seconds under sanitizers
constexpr double kSeconds = 2;
#else
constexpr int64_t kSeeds = 200;
constexpr double kSeconds = 0.5;  // most graphs take 50 ms
#endif

struct Outcome {
  std::string problem;  ///< empty if all is well
  std::string refusal;  ///< the reason why no pulse was legal, or nothing was compared
  int64_t outputs = 0;
};

std::vector<int64_t> pulses_of(uint64_t seed, int64_t unit) {
  // Numbers of the graph that are large relative to a small pulse are small relative to a large
  // one.
  constexpr int64_t kSmall = 40;
  constexpr int64_t kLarge = 4096;
  audit::Draw draw(seed * 7919 + 7002);
  const int64_t least = unit * draw.in(1, 2);
  const int64_t small = unit * draw.log_in(1, kSmall);
  const bool large = draw.chance(50) && unit * kSmall < kLarge;
  std::set<int64_t> out{least, large ? unit * draw.log_in(kSmall, kLarge / unit) : small};
  return {out.begin(), out.end()};
}

Outcome check(const WideRecipe& recipe) {
  Outcome out;
  const auto loaded = load_text(wide_graph(recipe));
  if (!loaded.ok()) {
    out.refusal = "loading: " + loaded.error().to_string();
    return out;
  }
  pulse::Options options;
  const auto unit = pulse::least_pulse(*loaded, options);
  if (!unit.ok()) {
    out.refusal = unit.error().to_string();
    if (unit.error().code != Code::kPulse) out.problem = out.refusal;
    return out;
  }
  for (const int64_t pulse : pulses_of(recipe.seed, *unit)) {
    options.pulse = Dim(pulse);
    const auto pulsed = pulse::pulsify(*loaded, options);
    if (!pulsed.ok()) {
      out.refusal = pulsed.error().to_string();
      continue;
    }
    audit::Options how;
    how.lengths = 16;
    how.seconds = kSeconds;
    how.seed = recipe.seed;
    how.attention_rounding = 5e-4;
    const auto report = audit::audit(*loaded, *pulsed, how);
    if (!report.ok()) {
      out.refusal = report.error().to_string();
      continue;
    }
    out.outputs += report->outputs;
    if (report->finding) {
      out.problem = report->to_string();
      return out;
    }
  }
  return out;
}

/// Remove links while a problem remains, starting at the last one.
WideRecipe shrunk(WideRecipe recipe) {
  for (size_t i = recipe.links.size(); i-- > 0;) {
    WideRecipe fewer = recipe;
    fewer.links.erase(fewer.links.begin() + static_cast<std::ptrdiff_t>(i));
    if (!check(fewer).problem.empty()) recipe = fewer;
  }
  return recipe;
}

void keep(uint64_t seed, const WideRecipe& recipe, const Outcome& outcome) {
  const char* const folder = std::getenv("RILL_FOUND");
  if (!folder) return;
  std::ofstream(str_cat(folder, "/wide_", seed, ".nnef"))
      << "# " << outcome.problem << "\n" << wide_graph(recipe);
}

TEST(WideGraph, StreamsTheFramesOfTheWholeRun) {
  const auto [first, count] = seeds_or(kFirstSeed, kSeeds);
  int64_t refused = 0;
  int64_t outputs = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    const WideRecipe recipe = wide_recipe(static_cast<uint64_t>(seed));
    const Outcome outcome = check(recipe);
    outputs += outcome.outputs;
    if (outcome.outputs == 0) ++refused;
    if (outcome.outputs == 0 && std::getenv("RILL_PROPERTY_VERBOSE")) {
      std::printf("seed %ld: %s\n", static_cast<long>(seed), outcome.refusal.c_str());
    }
    if (outcome.problem.empty()) continue;
    const WideRecipe small = shrunk(recipe);
    const Outcome least = check(small);
    keep(static_cast<uint64_t>(seed), small, least);
    ADD_FAILURE() << "seed " << seed << ": " << least.problem << "\n" << wide_graph(small);
  }
  if (count >= 100) {
    // A larger share would mean that the generator draws graphs that cannot stream.
    EXPECT_LE(refused * 100, count * 40);
    EXPECT_GE(outputs, count * 10);
  }
  std::printf("%ld graphs, %ld without a comparison, %ld outputs compared\n",
              static_cast<long>(count), static_cast<long>(refused), static_cast<long>(outputs));
}

}  // namespace
}  // namespace rill::test
