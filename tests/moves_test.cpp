// States of models move between any two pulses, or a refusal names the reason. Streams pass through
// sessions of random pulses, with states saved at random frames.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/base/splitmix.h"
#include "core/optim/optim.h"
#include "nnef_loader/load.h"
#include "ops/op_table.h"
#include "tests/property/journey.h"
#include "tests/support/models.h"

namespace rill::test {
namespace {

/// Larger archives take minutes; smaller models have the same layers.
constexpr uintmax_t kMostBytes = 40000;
constexpr int kJourneys = 4;
/// Attention sums over other keys at another pulse, so its last bits differ.
constexpr double kAttentionTolerance = 1e-4;

/// Models with states that cannot move between some pulses. In chunked attention, a pulse that does
/// not fill a chunk adds delay. In a model that repeats the first frame, states move only at whole
/// pulses until that frame has arrived.
const std::set<std::string> kStay = {"attention_clamped", "conformer_distances",
                                     "ends_joined",       "first_frames_joined",
                                     "low_frame_rate",    "transformer_chunks"};

class Moves : public ::testing::TestWithParam<ModelFolder> {};

TEST_P(Moves, GivesTheFramesOfTheWholeRun) {
  const ModelFolder& model = GetParam();
  if (std::filesystem::file_size(model.archive) > kMostBytes) return;
  auto graph = nnef::load(model.archive, ops::op_table());
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  // As models are loaded: rewrites that round differently need the open graph.
  graph = declutter(*graph);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  const std::vector<std::string> symbols = graph->scope.symbols();
  for (const std::string& symbol : symbols) {
    const bool streams = symbol == model.symbol;
    if (streams && symbol == "S") continue;
    graph = graph->with_symbol(symbol, streams ? Dim::symbol("S") : Dim(1));
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  }
  Splitmix64 dice(2024);
  Tally tally;
  for (int i = 0; i < kJourneys; ++i) {
    std::vector<int64_t> pulses;
    for (int k = 0; k < 3; ++k) pulses.push_back(model.pulse * dice.in(1, 5));
    for (int k = 0; k < 3; ++k) pulses.push_back(dice.in(1, 3 * model.pulse + 1));
    EXPECT_EQ(journey_problem(*graph, pulses, dice.next() % 1000, &tally,
                              has_attention(model) ? kAttentionTolerance : 0),
              "");
  }
  EXPECT_GT(tally.compared, 0);
  EXPECT_GT(tally.moved, 0);
  EXPECT_EQ(tally.stayed > 0, kStay.contains(model.name)) << tally.why;
}

INSTANTIATE_TEST_SUITE_P(, Moves, ::testing::ValuesIn(streaming_models()), ModelName());

}  // namespace
}  // namespace rill::test
