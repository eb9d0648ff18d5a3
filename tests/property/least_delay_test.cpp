// No output of a random graph lags more than its frames depend on frames to come, but for what
// `kExcuses` lists.
//
// RILL_PROPERTY_SEEDS=first:count takes other seeds than those below.

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "core/base/search.h"
#include "pulse/least_delay.h"
#include "tests/property/generate.h"
#include "tests/property/seeds.h"
#include "tests/property/streaming.h"

namespace rill::test {
namespace {

constexpr int64_t kFirstSeed = 1;
constexpr int64_t kSeeds = 300;

/// Graphs that may lag: by a text that they have, and the reason.
struct Excuse {
  const char* text;
  const char* reason;
};

constexpr Excuse kExcuses[] = {
    {"border = 'reflect'",
     "a mirrored frame waits for one that comes later, while those behind it do not: a window over "
     "windows over them would have to be computed anew for every frame that it reads"},
    {"border = 'replicated'", "the first frame repeated, as mirrored ones"},
    {"transposeB = true)", "attention has no known first frames"},
    {"matmul(", "a product has none, which would round otherwise than where a sum joins it"},
    {"reshape(", "nor have frames that are merged or split, and those of one frame wait together"},
    {"tract_core_resize(", "a resampled stream has no known first frames"},
    {"deconv(", "frames in the gaps of a transposed convolution depend on no input"},
    {"tanh(", "what is saturated shows no dependence, so that no proof reaches the delay"},
    {"mean_reduce(", "the mean of one channel is all of it, and nothing is left"},
    {"softmax(", "that of one channel is 1"},
    {"tract_core_shape_of(",
     "positions grow, as saturated frames, and a table ends before the runs of the proof do"},
};

/// Whether frames of the stream are kept, which wait as mirrored ones do: x[2:5] ends at a number.
bool keeps_frames(const std::string& text) {
  const std::string end = "end = [";
  size_t at = text.find(end);
  while (at != std::string::npos) {
    at += end.size();
    if (text[at] >= '1' && text[at] <= '9') return true;
    at = text.find(end, at);
  }
  return false;
}

bool is_excused(const std::string& text) {
  if (keeps_frames(text)) return true;
  return any_of(kExcuses, [&](const Excuse& excuse) {
    return text.find(excuse.text) != std::string::npos;
  });
}

struct Outcome {
  std::string late;  ///< the first output that lags, empty if none does
  int64_t compared = 0;
};

Outcome check(const Recipe& recipe) {
  Outcome out;
  const Generated generated = generate(recipe);
  const auto graph = load_text(generated.text);
  if (!graph.ok()) return out;
  for (const int64_t pulse : {generated.pulse_unit, 3 * generated.pulse_unit}) {
    pulse::Options options;
    options.pulse = Dim(pulse);
    pulse::Report report;
    const auto pulsed = pulse::pulsify(*graph, options, &report);
    if (!pulsed.ok()) continue;
    const auto least = pulse::least_delays(*graph, options, report,
                                           std::numeric_limits<double>::infinity());
    if (!least.ok()) continue;
    for (size_t i = 0; i < report.outputs.size(); ++i) {
      const auto& known = least->outputs[i];
      if (report.outputs[i].axis < 0 || !known) continue;
      ++out.compared;
      if (report.outputs[i].delay == *known) continue;
      out.late = str_cat("pulse ", pulse, ": output ", i, " lags ", report.outputs[i].delay,
                         " frames, where ", *known, " are proven");
      return out;
    }
  }
  return out;
}

bool fails(const Recipe& recipe) { return !check(recipe).late.empty(); }

TEST(RandomGraph, LagsNoMoreThanItsFramesDependOnThoseToCome) {
  const auto [first, count] = seeds_or(kFirstSeed, kSeeds);
  int64_t compared = 0;
  int64_t excused = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    const Outcome outcome = check(recipe(static_cast<uint64_t>(seed)));
    compared += outcome.compared;
    if (outcome.late.empty()) continue;
    const Recipe small = shrunk(recipe(static_cast<uint64_t>(seed)), fails);
    if (is_excused(generate(small).text)) {
      ++excused;
      continue;
    }
    ADD_FAILURE() << "seed " << seed << ": " << check(small).late << "\n" << generate(small).text;
  }
  if (count >= 100) {
    EXPECT_GE(compared, count);
    EXPECT_LE(excused * 100, count * 15);
  }
  std::printf("%ld graphs, %ld outputs compared, %ld graphs excused\n", static_cast<long>(count),
              static_cast<long>(compared), static_cast<long>(excused));
}

}  // namespace
}  // namespace rill::test
