// Streams of random graphs give the frames of the whole run, bit for bit: pushed and pulled in
// pieces of any size, and moved between sessions with other pulses by saved states.
// RILL_PROPERTY_SEEDS=first:count selects other seeds.

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "core/exec/saved.h"
#include "core/graph/fingerprint.h"
#include "tests/property/generate.h"
#include "tests/property/journey.h"
#include "tests/property/streaming.h"

namespace rill::test {
namespace {

constexpr int64_t kFirstSeed = 1;
constexpr int64_t kSeeds = 200;

std::string check(uint64_t seed, Tally* tally) {
  const Generated generated = generate(recipe(seed));
  const auto graph = load_text(generated.text);
  if (!graph.ok()) return {};
  Random random(seed * 77 + 4);
  const int64_t unit = generated.pulse_unit;
  return journey_problem(*graph, {unit, unit * random.in(2, 3), unit * random.in(4, 9)}, seed,
                         tally);
}

std::pair<int64_t, int64_t> seeds() {
  const char* text = std::getenv("RILL_PROPERTY_SEEDS");
  if (!text) return {kFirstSeed, kSeeds};
  char* rest = nullptr;
  const int64_t first = std::strtoll(text, &rest, 10);
  return {first, *rest == ':' ? std::strtoll(rest + 1, nullptr, 10) : 1};
}

TEST(Feed, PushedInPiecesAndMovedBetweenPulsesGiveTheWholeRun) {
  const auto [first, count] = seeds();
  Tally tally;
  for (int64_t seed = first; seed < first + count; ++seed) {
    const std::string problem = check(static_cast<uint64_t>(seed), &tally);
    EXPECT_EQ(problem, "") << "seed " << seed << "\n"
                           << generate(recipe(static_cast<uint64_t>(seed))).text;
    if (!problem.empty()) break;
  }
  RecordProperty("compared", static_cast<int>(tally.compared));
  RecordProperty("moved", static_cast<int>(tally.moved));
  std::printf("%ld streams compared, %ld states moved, %ld stayed (%s)\n",
              static_cast<long>(tally.compared), static_cast<long>(tally.moved),
              static_cast<long>(tally.stayed), tally.why.c_str());
  if (count < kSeeds) return;
  EXPECT_GT(tally.compared, count);
  EXPECT_GT(tally.moved, 5 * count);
}

// Inputs with two rates and different lengths, and outputs with three rates and several delays.
constexpr char kSeveral[] =
    "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"
    "graph network(x, w, gain) -> (sum, fine, coarse)\n{\n"
    "  x = tract_core_external(shape = [1, 1, S], datum_type = 'f32');\n"
    "  w = tract_core_external(shape = [1, 1, 2*S], datum_type = 'f32');\n"
    "  gain = tract_core_external(shape = [1, 1, 1], datum_type = 'f32');\n"
    "  half = conv(w, [[[0.5, -1.0, 0.25, 2.0]]], 0.0, stride = [2], dilation = [1], "
    "padding = [(1, 1)], groups = 1, border = 'constant');\n"
    "  sum = (x + half) * gain;\n"
    "  fine = conv(w, [[[1.0, 0.5, 0.25]]], 0.0, stride = [1], dilation = [1], "
    "padding = [(0, 2)], groups = 1, border = 'constant');\n"
    "  coarse = max_pool(x, size = [1, 1, 4], stride = [1, 1, 4], dilation = [1, 1, 1], "
    "padding = [(0, 0), (0, 0), (0, 0)], border = 'ignore');\n}\n";

TEST(Feed, HandlesInputsAndOutputsOfSeveralRates) {
  const auto graph = load_text(kSeveral);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  Tally tally;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    EXPECT_EQ(journey_problem(*graph, {4, 8, 20}, seed, &tally), "") << "seed " << seed;
  }
  EXPECT_GT(tally.compared, 100);
  EXPECT_GT(tally.moved, 100);
}

// At first, the exclusive sum has one frame more than its input, so the inner wire leads the output
// by one frame.
TEST(Feed, WaitsForTheEndIfAnInnerWireLeadsTheOutput) {
  const auto graph = load_text(document("1, 1, S",
                                        "  z = tract_core_cumsum(x, axis = 2, exclusive = true, "
                                        "reverse = false);\n"
                                        "  y = pad(z, padding = [(0, 0), (0, 0), (0, 2)], "
                                        "border = 'constant', value = 0.0);\n",
                                        "y, z"));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  Tally tally;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(journey_problem(*graph, {1, 3}, seed, &tally), "") << "seed " << seed;
  }
  EXPECT_GT(tally.compared, 20);
}

TEST(Feed, RefusesInputsThatEndAtDifferentTimesAndTakesTheRest) {
  const auto graph = load_text(kSeveral);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  auto run = StreamedRun::make(*graph, 4);
  ASSERT_TRUE(run.ok()) << run.error().to_string();
  const auto feed = std::move(Feed::make(&run->session(), 0)).value();
  const std::vector<Tensor> inputs = noise_inputs(*graph, 3, 1);
  const auto push = [&](size_t input, int64_t first, int64_t count) {
    return feed->push(input, frames_of(inputs[input].view(), 2, first, count));
  };
  EXPECT_EQ(push(0, 0, 3), 3);
  EXPECT_EQ(push(1, 0, 5), 5);
  const Refusal half = feed->finish();
  EXPECT_EQ(half.code, Code::kShape) << "half a unit of S";
  EXPECT_EQ(push(1, 5, 1), 1);
  EXPECT_EQ(push(0, 0, 1), 1);
  const Status refusal = feed->finish().status();
  ASSERT_EQ(refusal.code(), Code::kShape);
  EXPECT_NE(refusal.error().message.find("\"x\" at S=4, where \"w\" has 8 frames, and 6 were"),
            std::string::npos)
      << refusal.error().to_string();
  EXPECT_FALSE(feed->finished());
  EXPECT_EQ(push(1, 0, 2), 2);
  EXPECT_TRUE(feed->finish().ok());
}

TEST(Feed, RefusesATailOfTooManyStepsAndAsksForALongerPulse) {
  const auto graph =
      load_text(document("1, 1, S",
                         "  y = pad(x, padding = [(0, 0), (0, 0), (0, 16777216)], "
                         "border = 'constant', value = 0.0);\n"));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  for (const int64_t pulse : {1, 4}) {
    auto run = StreamedRun::make(*graph, pulse);
    ASSERT_TRUE(run.ok()) << run.error().to_string();
    const auto feed = std::move(Feed::make(&run->session(), 0)).value();
    const std::vector<Tensor> inputs = noise_inputs(*graph, pulse, 1);
    EXPECT_EQ(feed->push(0, inputs[0].view()), pulse);
    const Status finished = feed->finish().status();
    if (pulse > 1) {
      EXPECT_TRUE(finished.ok()) << finished.error().to_string();
      continue;
    }
    ASSERT_EQ(finished.code(), Code::kUnsupported);
    EXPECT_NE(finished.error().to_string().find("more frames per step"), std::string::npos)
        << finished.error().to_string();
    EXPECT_FALSE(feed->finished());
  }
}

// Frames from 3, with frame 3 repeated twice as a prefix. With pulses of one frame, the repeats are
// output in separate steps, and so later than in a pulse that holds all of them.
constexpr char kEdge[] =
    "  late = slice(x, axes = [2], begin = [3], end = [0]);\n"
    "  y = pad(late, padding = [(0, 0), (0, 0), (2, 0)], border = 'replicate', value = 0.0);\n";

TEST(SavedState, DoesNotMoveToAPulseWithAnotherDelay) {
  const auto graph = load_text(document("1, 1, S", kEdge));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  auto one = StreamedRun::make(*graph, 1);
  auto four = StreamedRun::make(*graph, 4);
  ASSERT_TRUE(one.ok() && four.ok());
  ASSERT_NE(one->output().delay, four->output().delay);
  SavedState from(&one->session(), nullptr);
  std::vector<std::byte> bytes(static_cast<size_t>(from.most_bytes()));
  const int64_t size = from.save(bytes);
  ASSERT_GT(size, 0);
  four->session().step();
  const Status moved =
      SavedState(&four->session(), nullptr).load({bytes.data(), static_cast<size_t>(size)});
  ASSERT_EQ(moved.code(), Code::kState);
  EXPECT_NE(moved.error().message.find("\"y\" lags by 3 frames there and by 1 here"),
            std::string::npos)
      << moved.error().to_string();
  EXPECT_EQ(four->session().ticks(), 1) << "a refused state changes nothing";
}

/// Recompute the checksum of an altered state.
void seal(std::span<std::byte> state) {
  constexpr size_t kChecksumAt = 24;
  Hasher hash;
  hash.bytes(state.data() + kChecksumAt + 8, state.size() - kChecksumAt - 8);
  const uint64_t sum = hash.value()[0];
  std::memcpy(state.data() + kChecksumAt, &sum, sizeof sum);
}

TEST(SavedState, IfAlteredIsRefusedOrRuns) {
  Random random(99);
  int64_t refused = 0;
  int64_t ran = 0;
  for (uint64_t seed = 1; seed < 60; ++seed) {
    const Generated generated = generate(recipe(seed));
    const auto graph = load_text(generated.text);
    if (!graph.ok()) continue;
    auto run = StreamedRun::make(*graph, 2 * generated.pulse_unit);
    if (!run.ok()) continue;
    const auto feed = std::move(Feed::make(&run->session(), 8)).value();
    run->session().step();
    SavedState state(&run->session(), feed.get());
    std::vector<std::byte> bytes(static_cast<size_t>(state.most_bytes()));
    bytes.resize(static_cast<size_t>(state.save(bytes)));
    seal(bytes);
    ASSERT_TRUE(state.load(bytes).ok()) << "the checksum is where this test thinks it is";
    for (int i = 0; i < 60; ++i) {
      std::vector<std::byte> altered = bytes;
      // Numbers of the format have 8 bytes; extreme values find failures that random bytes do not.
      const int64_t words = static_cast<int64_t>(bytes.size()) / 8 - 6;
      const int64_t at = 48 + 8 * random.in(0, words - 1);
      const int64_t values[] = {random.in(-3, 3), INT64_MAX, INT64_MIN, int64_t{1} << 52,
                                random.in(0, 100) << 32};
      const int64_t value = values[random.in(0, 4)];
      std::memcpy(altered.data() + at, &value, sizeof value);
      seal(altered);
      const Status loaded = state.load(altered);
      loaded.ok() ? ++ran : ++refused;
      if (loaded.ok() && !run->session().end_announced()) {
        for (int step = 0; step < 3; ++step) run->session().step();
      }
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(ran, 100);
}

/// Stream pulses of noise from frame `from`, and return the values in the buffer of the first
/// output.
std::vector<float> go_on(Session* session, int64_t from, int64_t pulses) {
  std::vector<float> out;
  for (int64_t p = 0; p < pulses; ++p) {
    Random random(static_cast<uint64_t>(from + p));
    const View in = session->input(0);
    for (int64_t i = 0; i < in.volume(); ++i)
      in.as<float>()[i] = static_cast<float>(random.in(-512, 512)) / 256.0F;
    session->step();
    const View view = session->output(0);
    out.insert(out.end(), view.as<float>(), view.as<float>() + view.volume());
  }
  return out;
}

TEST(SavedState, ContinuesAtPositionsBeyond32Bits) {
  const auto graph = load_text(document(
      "1, 2, S",
      "  a = conv(x, [[[0.5, -1.0, 2.0]], [[1.0, 0.25, 3.0]]], 0.0, stride = [2], dilation = [2], "
      "padding = [(4, 1)], groups = 2);\n"
      "  b = max_pool(a, size = [1, 1, 3], stride = [1, 1, 1], dilation = [1, 1, 1], "
      "padding = [(0, 0), (0, 0), (1, 1)], border = 'ignore');\n"
      "  c = pad(a, padding = [(0, 0), (0, 0), (0, 2)], border = 'replicate', value = 0.0);\n"
      "  d = slice(c, axes = [2], begin = [2], end = [0]);\n"
      "  y = b + d;\n"));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  for (const int64_t beyond : {int64_t{1} << 31, int64_t{1} << 32, int64_t{1} << 40}) {
    auto near = StreamedRun::make(*graph, 4);
    auto far = StreamedRun::make(*graph, 4);
    ASSERT_TRUE(near.ok() && far.ok()) << near.error().to_string();
    go_on(&near->session(), 0, 20);
    SavedState from(&near->session(), nullptr);
    std::vector<std::byte> bytes(static_cast<size_t>(from.most_bytes()));
    bytes.resize(static_cast<size_t>(from.save(bytes)));
    constexpr size_t kPositionAt = 48;
    int64_t position = 0;
    std::memcpy(&position, bytes.data() + kPositionAt, sizeof position);
    ASSERT_EQ(position, 80) << "the position is where this test thinks it is";
    position = beyond - 8;
    std::memcpy(bytes.data() + kPositionAt, &position, sizeof position);
    seal(bytes);
    const Status moved = SavedState(&far->session(), nullptr).load(bytes);
    ASSERT_TRUE(moved.ok()) << moved.error().to_string();
    EXPECT_EQ(go_on(&far->session(), 20, 10), go_on(&near->session(), 20, 10));
    near->session().announce_end(80 + 40 + 3);
    far->session().announce_end(beyond - 8 + 40 + 3);
    EXPECT_EQ(far->session().output_frames(0) - near->session().output_frames(0),
              (beyond - 8 - 80) / 2);
    for (int64_t p = 30; near->session().steps_left() > 0; ++p) {
      ASSERT_EQ(far->session().steps_left(), near->session().steps_left());
      ASSERT_EQ(go_on(&far->session(), p, 1), go_on(&near->session(), p, 1));
      EXPECT_EQ(far->session().valid_frames(0).count, near->session().valid_frames(0).count);
      EXPECT_EQ(far->session().valid_frames(0).first, near->session().valid_frames(0).first);
    }
    EXPECT_EQ(far->session().steps_left(), 0);
  }
}

TEST(SavedState, ContinuesInThePlanOfReferenceSteps) {
  const auto graph = load_text(document("1, 1, S",
                                        "  a = conv(x, [[[0.5, -1.0, 2.0]]], 0.0, stride = [1], "
                                        "dilation = [1], padding = [(2, 0)], groups = 1);\n"
                                        "  y = relu(a) * 3.0;\n"));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  auto fast = StreamedRun::make(*graph, 2);
  ASSERT_TRUE(fast.ok());
  PrepareOptions plain;
  plain.optimize = false;
  const auto plan = prepare(fast->graph(), plain);
  ASSERT_TRUE(plan.ok());
  const auto slow = std::move(Session::make(*plan)).value();
  const float frames[] = {1, -2, 3, 4, -5, 6};
  const auto step = [&](Session* session, int tick) {
    std::copy_n(frames + 2 * tick, 2, session->input(0).as<float>());
    session->step();
    return std::vector<float>(session->output(0).as<float>(), session->output(0).as<float>() + 2);
  };
  step(&fast->session(), 0);
  step(&fast->session(), 1);
  SavedState from(&fast->session(), nullptr);
  std::vector<std::byte> bytes(static_cast<size_t>(from.most_bytes()));
  const auto size = static_cast<size_t>(from.save(bytes));
  const Status loaded = SavedState(slow.get(), nullptr).load({bytes.data(), size});
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  EXPECT_EQ(step(slow.get(), 2), step(&fast->session(), 2));
}

TEST(SavedState, OfAnEndedStreamHoldsValuesKnownAtTheEnd) {
  const auto graph = load_text(document("1, 1, S", "  y = sum_reduce(x, axes = [2]);\n"));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  auto from = StreamedRun::make(*graph, 4);
  auto to = StreamedRun::make(*graph, 2);
  ASSERT_TRUE(from.ok() && to.ok());
  const auto step = [](Session* session, std::initializer_list<float> frames) {
    std::copy(frames.begin(), frames.end(), session->input(0).as<float>());
    session->step();
    return *session->output(0).as<float>();
  };
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  const auto move = [&] {
    SavedState saved(&from->session(), nullptr);
    std::vector<std::byte> bytes(static_cast<size_t>(saved.most_bytes()));
    const auto size = static_cast<size_t>(saved.save(bytes));
    const Status loaded = SavedState(&to->session(), nullptr).load({bytes.data(), size});
    EXPECT_TRUE(loaded.ok()) << loaded.error().to_string();
  };
  step(&from->session(), {1.0F, 2.0F, 4.0F, 8.0F});
  from->session().announce_end(4);
  move();
  EXPECT_EQ(to->session().steps_left(), 1) << "of a step that knows the end";
  EXPECT_EQ(step(&to->session(), {kNone, kNone}), 15.0F);
  from->session().reset();
  from->session().announce_end(3);
  EXPECT_EQ(step(&from->session(), {1.0F, 2.0F, 4.0F, kNone}), 7.0F);
  EXPECT_EQ(from->session().steps_left(), 0);
  move();
  EXPECT_EQ(to->session().steps_left(), 0);
  EXPECT_EQ(*to->session().output(0).as<float>(), 7.0F);
}

}  // namespace
}  // namespace rill::test
