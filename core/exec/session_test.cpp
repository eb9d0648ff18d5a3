#include "core/exec/plan.h"
#include "core/exec/session.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/optim/optim.h"
#include "tests/property/streaming.h"

namespace rill {
namespace {

using test::document;

Graph loaded(const std::string& shape, const std::string& statements,
             const std::string& results = "y") {
  auto graph = test::load_text(document(shape, statements, results));
  EXPECT_TRUE(graph.ok()) << graph.error().to_string();
  return graph.ok() ? std::move(graph).value() : Graph();
}

std::unique_ptr<Session> session_of(const Graph& graph, const PrepareOptions& options = {}) {
  auto plan = prepare(graph, options);
  EXPECT_TRUE(plan.ok()) << plan.error().to_string();
  if (!plan.ok()) return nullptr;
  return std::move(Session::make(*plan)).value();
}

std::unique_ptr<Session> pulsed_session(const Graph& graph, int64_t pulse) {
  pulse::Options options;
  options.pulse = Dim(pulse);
  auto pulsed = pulse::pulsify(graph, options);
  EXPECT_TRUE(pulsed.ok()) << pulsed.error().to_string();
  return pulsed.ok() ? session_of(*pulsed) : nullptr;
}

void put(Session* session, std::vector<float> values) {
  const View view = session->input(0);
  ASSERT_EQ(view.volume(), static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), view.as<float>());
}

std::vector<float> got(const Session& session, size_t output = 0) {
  const View view = session.output(output);
  return {view.as<float>(), view.as<float>() + view.volume()};
}

std::vector<float> ramp(int64_t n, float from = 1) {
  std::vector<float> out(static_cast<size_t>(n));
  std::iota(out.begin(), out.end(), from);
  return out;
}

// Every wire of a diamond is read again after other wires were written.
constexpr char kDiamond[] =
    "  a = max_pool(x, size = [1, 1, 2], stride = [1, 1, 1], dilation = [1, 1, 1], "
    "padding = [(0, 0), (0, 0), (0, 1)], border = 'ignore');\n"
    "  b = transpose(a, axes = [0, 2, 1]);\n  c = a * 2.0;\n"
    "  d = transpose(b * 3.0, axes = [0, 2, 1]);\n  e = c + d;\n  y = e * a - x;\n";

// A stream that continues from a state at a distant frame, in long pulses.
TEST(StreamClock, ComputesPositionsUpTo64Bits) {
  StreamClock clock;
  clock.start = (int64_t{1} << 40) + 3;
  clock.unit = int64_t{1} << 31;
  EXPECT_EQ(clock.position(clock.unit), clock.start);
  EXPECT_EQ(clock.position(2 * clock.unit), 2 * clock.start);
  EXPECT_EQ(clock.position(clock.unit / 2), clock.start / 2);
  clock.tick = 5;
  EXPECT_EQ(clock.position(clock.unit), clock.start + 5 * clock.unit);
  clock.unit = int64_t{1} << 40;
  clock.start = (int64_t{1} << 61) + 7;
  EXPECT_EQ(clock.position(clock.unit), clock.start + 5 * clock.unit);
}

// The part of a pulse times the frames per step exceeds 64 bits.
TEST(StreamClock, ComputesPositionsIfPartsOfPulsesAreLarge) {
  constexpr int64_t kOne = 1;
  const auto position = [](int64_t start, int64_t unit, int64_t frames, int64_t tick) {
    StreamClock clock;
    clock.start = start;
    clock.unit = unit;
    clock.tick = tick;
    return clock.position(frames);
  };
  EXPECT_EQ(position((kOne << 41) + 1, 3 * (kOne << 40), 3 * (kOne << 45), 0),
            ((kOne << 41) + 1) * 32);
  EXPECT_EQ(position((kOne << 61) + 12345, (kOne << 60) + 33, (kOne << 59) - 1, 7),
            5188146770730817522);
  EXPECT_EQ(position((kOne << 62) - 1, kOne << 62, (kOne << 62) - 5, 0), 4611686018427387898);
  EXPECT_EQ(position(5 * (kOne << 40) + 7, (kOne << 41) + 9, (kOne << 40) + 1, 3), 6047313952765);
}

TEST(Plan, WiresOfADiamondDoNotOverwriteEachOther) {
  const Graph graph = loaded("1, 2, 4", kDiamond);
  for (const bool keep : {false, true}) {
    for (const bool optimize : {false, true}) {
      PrepareOptions options;
      options.keep_intermediates = keep;
      options.optimize = optimize;
      const auto session = session_of(graph, options);
      ASSERT_TRUE(session);
      for (int run = 0; run < 3; ++run) {
        put(session.get(), ramp(8));
        session->step();
        // a = (2 3 4 4, 6 7 8 8); y = 5 a a - x.
        EXPECT_EQ(got(*session), (std::vector<float>{19, 43, 77, 76, 175, 239, 313, 312}));
      }
    }
  }
}

TEST(Plan, TheArenaIsReused) {
  std::string chain = "  v0 = transpose(x, axes = [1, 0]);\n";
  for (int i = 1; i < 20; ++i) {
    chain += str_cat("  v", i, " = softmax(transpose(v", i - 1, ", axes = [1, 0]), axes = [0]);\n");
  }
  const Graph graph = loaded("32, 32", chain + "  y = copy(v19);\n");
  PrepareOptions keep;
  keep.keep_intermediates = true;
  const auto small = session_of(graph);
  const auto large = session_of(graph, keep);
  ASSERT_TRUE(small && large);
  EXPECT_LT(small->plan().arena_bytes, 32 * 32 * 4 * 8);
  put(small.get(), ramp(1024));
  put(large.get(), ramp(1024));
  small->step();
  large->step();
  EXPECT_EQ(got(*small), got(*large));
}

TEST(Plan, NodesThatReadOnlyConstantsRunOnce) {
  const std::string mask =
      "  at = tract_core_range(0, S, 1);\n"
      "  late = gt(unsqueeze(at, axes = [0]), unsqueeze(at, axes = [1]));\n"
      "  mask = tract_core_cast(late, to = 'f32') * -100.0;\n";
  Graph graph = loaded("S, S", mask + "  y = softmax(x + mask, axes = [1]);\n");
  graph = std::move(graph.with_symbol("S", Dim(5))).value();
  PrepareOptions plain;
  plain.optimize = false;
  PrepareOptions keep;
  keep.keep_intermediates = true;
  const auto session = session_of(graph);
  const auto expected = session_of(graph, plain);
  const auto shown = session_of(graph, keep);
  ASSERT_TRUE(session && expected && shown);
  EXPECT_LE(session->plan().steps.size(), 2U);
  EXPECT_GT(shown->plan().steps.size(), 3U);
  for (int run = 0; run < 3; ++run) {
    for (const auto& each : {session.get(), expected.get(), shown.get()}) {
      put(each, ramp(25, static_cast<float>(run)));
      each->step();
    }
    EXPECT_EQ(got(*session), got(*expected));
    EXPECT_EQ(got(*session), got(*shown));
  }
}

TEST(Plan, UnboundSymbolsAreNamed) {
  const auto plan = prepare(loaded("1, S", "  y = x * 2.0;\n"));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, Code::kSymbol);
  EXPECT_NE(plan.error().to_string().find("S"), std::string::npos);
}

TEST(Session, SeveralOutputs) {
  const auto session =
      session_of(loaded("3", "  y = x + 1.0;\n  z = x * 2.0;\n  w = y * z;\n", "y, z, w"));
  ASSERT_TRUE(session);
  put(session.get(), {1, 2, 3});
  session->step();
  EXPECT_EQ(got(*session, 0), (std::vector<float>{2, 3, 4}));
  EXPECT_EQ(got(*session, 1), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(got(*session, 2), (std::vector<float>{4, 12, 24}));
}

TEST(Session, AnOutputMayBeAnInput) {
  const auto session = session_of(loaded("3", "  y = x * 2.0;\n", "x, y, x"));
  ASSERT_TRUE(session);
  put(session.get(), {1, 2, 3});
  session->step();
  EXPECT_EQ(got(*session, 0), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(got(*session, 1), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(got(*session, 2), (std::vector<float>{1, 2, 3}));
}

TEST(Session, AnOutputMayBeAConstantOrAppearTwice) {
  const auto session =
      session_of(loaded("2", "  c = [7.0, 8.0];\n  y = x + c;\n  z = copy(y);\n", "c, y, z"));
  ASSERT_TRUE(session);
  put(session.get(), {1, 2});
  session->step();
  EXPECT_EQ(got(*session, 0), (std::vector<float>{7, 8}));
  EXPECT_EQ(got(*session, 1), (std::vector<float>{8, 10}));
  EXPECT_EQ(got(*session, 2), (std::vector<float>{8, 10}));
}

TEST(Session, AnOutputMayBeAViewOfAnInput) {
  const auto session = session_of(
      loaded("2, 3",
             "  y = transpose(x, axes = [1, 0]);\n  z = slice(x, axes = [1], begin = [1], "
             "end = [2]);\n",
             "y, z"));
  ASSERT_TRUE(session);
  put(session.get(), ramp(6));
  session->step();
  EXPECT_EQ(got(*session, 0), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(got(*session, 1), (std::vector<float>{2, 5}));
}

TEST(Session, UsesTheCallersMemoryUntilNullIsBound) {
  const auto session = session_of(loaded("2", "  y = x + 1.0;\n"));
  ASSERT_TRUE(session);
  float in[2] = {5, 6};
  float out[2] = {};
  session->bind_input(0, in);
  session->bind_output(0, out);
  session->step();
  EXPECT_EQ(out[0], 6);
  EXPECT_EQ(out[1], 7);
  session->bind_input(0, nullptr);
  session->bind_output(0, nullptr);
  put(session.get(), {1, 2});
  session->step();
  EXPECT_EQ(got(*session), (std::vector<float>{2, 3}));
  EXPECT_EQ(out[0], 6);
}

/// Expect x + (x delayed by `history`), over many steps in which the ring wraps repeatedly.
void expect_ring(int64_t history, int64_t pulse, int64_t steps) {
  // x[n] + x[n - history], zeros before the start.
  const std::string pad = str_cat("  p = pad(x, padding = [(0, 0), (", history, ", 0)]);\n");
  const std::string cut =
      str_cat("  q = slice(p, axes = [1], begin = [0], end = [-", history, "]);\n  y = x + q;\n");
  const auto session = pulsed_session(loaded("2, S", pad + cut), pulse);
  ASSERT_TRUE(session);
  for (int64_t tick = 0; tick < steps; ++tick) {
    const View in = session->input(0);
    for (int64_t lane = 0; lane < 2; ++lane) {
      for (int64_t i = 0; i < pulse; ++i) {
        in.as<float>()[lane * pulse + i] = static_cast<float>(tick * pulse + i + 1 + lane * 100000);
      }
    }
    session->step();
    const PlanStream& stream = session->plan().outputs[0].stream;
    const View out = session->output(0);
    for (int64_t lane = 0; lane < 2; ++lane) {
      for (int64_t i = 0; i < stream.pulse; ++i) {
        const int64_t frame = tick * stream.pulse + i - stream.delay;
        if (frame < 0) continue;
        const auto value = [&](int64_t n) {
          return n < 0 ? 0.0F : static_cast<float>(n + 1 + lane * 100000);
        };
        ASSERT_EQ(out.as<float>()[lane * stream.pulse + i], value(frame) + value(frame - history))
            << "history " << history << ", pulse " << pulse << ", frame " << frame;
      }
    }
  }
}

TEST(Rings, HoldTinyAndHugeHistoriesOverManySteps) {
  for (const int64_t history : {1, 2, 3, 7, 64, 1000, 5000}) {
    for (const int64_t pulse : {1, 2, 5, 16, 333}) expect_ring(history, pulse, 12000 / pulse + 3);
  }
}

// A stream with a history, the state of a loop, and a position.
constexpr char kStateful[] =
    "  c = conv(x, [[[0.5, -0.25, 0.125]]], 0.0, padding = [(1, 1)]);\n"
    "  d = pad(slice(c, axes = [2], begin = [0], end = [-2]), padding = [(0, 0), (0, 0), (0, 2)], "
    "value = 3.0);\n"
    "  y = tract_core_cumsum(d, axis = 2);\n";

std::vector<float> run(Session* session, int64_t from, int64_t to, int64_t frames) {
  std::vector<float> out;
  const int64_t pulse = session->plan().inputs[0].stream.pulse;
  for (int64_t tick = from; tick < to; ++tick) {
    put(session, ramp(pulse, static_cast<float>(tick * pulse)));
    if (frames <= (tick + 1) * pulse) session->announce_end(frames);
    session->step();
    const std::vector<float> frame = got(*session);
    out.insert(out.end(), frame.begin(), frame.end());
  }
  return out;
}

TEST(Session, ResetIsANewSession) {
  const Graph graph = loaded("1, 1, S", kStateful);
  const auto used = pulsed_session(graph, 3);
  const auto fresh = pulsed_session(graph, 3);
  ASSERT_TRUE(used && fresh);
  run(used.get(), 5, 12, 30);
  EXPECT_TRUE(used->end_announced());
  used->reset();
  EXPECT_FALSE(used->end_announced());
  EXPECT_EQ(used->ticks(), 0);
  EXPECT_EQ(used->steps_left(), -1);
  EXPECT_EQ(used->output_frames(0), -1);
  EXPECT_EQ(run(used.get(), 0, 12, 25), run(fresh.get(), 0, 12, 25));
}

/// Count the runs of a plan while a session of it is made, and check their visible effects.
int runs_of_a_new_session(const Plan& plan) {
  static int runs = 0;
  runs = 0;
  auto counted = std::make_shared<Plan>(plan);
  Step count;
  count.run = [](const Step&, const Frame&) noexcept { ++runs; };
  counted->steps.push_back(count);
  const auto session = std::move(Session::make(counted)).value();
  EXPECT_EQ(session->ticks(), 0);
  EXPECT_EQ(got(*session), std::vector<float>(got(*session).size(), 0.0f));
  return runs;
}

TEST(Session, WithAStreamStepsOnceWhenItIsMade) {
  const auto streamed = pulsed_session(loaded("1, 1, S", "  y = x + 1.0;\n"), 3);
  const auto whole = session_of(loaded("1, 1, 3", "  y = x + 1.0;\n"));
  ASSERT_TRUE(streamed && whole);
  EXPECT_EQ(runs_of_a_new_session(streamed->plan()), 1);
  EXPECT_EQ(runs_of_a_new_session(whole->plan()), 0);
}

TEST(Session, ACopyContinuesAsTheOriginalAndThenDiverges) {
  const auto original = pulsed_session(loaded("1, 1, S", kStateful), 2);
  ASSERT_TRUE(original);
  for (int64_t at = 0; at < 9; ++at) {
    original->reset();
    run(original.get(), 0, at, 1000);
    auto copy = std::move(Session::make(std::shared_ptr<const Plan>(std::shared_ptr<void>(),
                                                                    &original->plan())))
                    .value();
    run(copy.get(), 3, 7, 9);
    copy->copy_state(*original);
    EXPECT_EQ(copy->ticks(), at);
    EXPECT_EQ(copy->end_announced(), false);
    const std::vector<float> expected = run(original.get(), at, at + 6, 2 * at + 7);
    EXPECT_EQ(run(copy.get(), at, at + 6, 2 * at + 7), expected) << "at " << at;
  }
}

TEST(Session, ReportsTheValidFrames) {
  const auto session = pulsed_session(loaded("1, 1, S",
                                             "  y = conv(x, [[[1.0, 1.0, 1.0]]], 0.0, "
                                             "padding = [(0, 0)]);\n"),
                                      4);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->valid_frames(0).count, 0);
  put(session.get(), ramp(4));
  session->step();
  EXPECT_EQ(session->valid_frames(0).first, 2);
  EXPECT_EQ(session->valid_frames(0).count, 2);
  EXPECT_EQ(session->output_frames(0), -1);
  session->announce_end(7);
  EXPECT_EQ(session->output_frames(0), 5);
  EXPECT_EQ(session->steps_left(), 1);
  session->step();
  EXPECT_EQ(session->valid_frames(0).first, 0);
  EXPECT_EQ(session->valid_frames(0).count, 3);
  EXPECT_EQ(session->steps_left(), 0);
  session->step();
  EXPECT_EQ(session->valid_frames(0).count, 0);
}

TEST(Session, AnEmptyStreamGivesNoFrames) {
  const auto session = pulsed_session(
      loaded("1, 1, S", "  y = conv(x, [[[1.0, 1.0]]], 0.0, padding = [(0, 0)]);\n"), 4);
  ASSERT_TRUE(session);
  session->announce_end(0);
  EXPECT_EQ(session->output_frames(0), 0);
  EXPECT_EQ(session->steps_left(), 0);
  session->step();
  EXPECT_EQ(session->valid_frames(0).count, 0);
}

TEST(Session, TimedStepsGiveTheSameOutputs) {
  const Graph graph = loaded("1, 1, S", kStateful);
  const auto timed = pulsed_session(graph, 2);
  const auto plain = pulsed_session(graph, 2);
  ASSERT_TRUE(timed && plain);
  int64_t calls = 0;
  for (int i = 0; i < 5; ++i) {
    put(timed.get(), ramp(2, static_cast<float>(i)));
    put(plain.get(), ramp(2, static_cast<float>(i)));
    timed->step_timed([&](int, int64_t) { ++calls; });
    plain->step();
    EXPECT_EQ(got(*timed), got(*plain));
  }
  EXPECT_EQ(calls, 5 * static_cast<int64_t>(timed->plan().steps.size()));
}

}  // namespace
}  // namespace rill
