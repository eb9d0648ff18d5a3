// Worked cases of operator states: over static inputs, in streams that end early, and within
// pulses.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/run/copy_step.h"
#include "tests/property/journey.h"
#include "tests/property/pulse_cases.h"
#include "tests/property/texts.h"

namespace rill::test {
namespace {

const char kLeaky[] =
    "fragment leaky(h: tensor<scalar>, v: tensor<scalar>) -> (h_t: tensor<scalar>) "
    "{ h_t = h * 0.5 + v; }\n";
const char kFull[] = "('h_t', 'full', 1, 1)";
const char kLast[] = "('h_t', 'last', 1, 1)";

/// A loop of `leaky` along axis 1 of a wire [1, frames, 2].
std::string loop(const std::string& x, const std::string& outputs, int step = 1, int skip = 0) {
  return str_cat("tract_core_scan('leaky', scan = [('v', ", x, ", 1, ", step,
                 ")], full = [], state = [('h', [[[0.5, -1.0]]], 'h_t')], output = [", outputs,
                 "], skip = ", skip, ", reset_every_turn = false)");
}

std::string trimmed(const std::string& x, int begin, int end) {
  return str_cat("slice(", x, ", axes = [1], begin = [", begin, "], end = [", end, "])");
}

std::string along(const std::string& statements, const std::string& results = "y") {
  return document("1, S, 2", statements, results, kLeaky);
}

/// Compare streams of lengths from `least`, also after writing and reading the graph.
void expect_frames_of_all(const std::string& text, const std::vector<int64_t>& pulses,
                          int64_t least) {
  const Graph graph = loaded(text);
  for (const int64_t pulse : pulses) {
    auto streamed = StreamedRun::make(graph, pulse);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string() << "\n" << text;
    auto reloaded = streamed->reloaded();
    ASSERT_TRUE(reloaded.ok()) << reloaded.error().to_string() << "\n" << text;
    for (int64_t length = least; length <= least + 40; length += 1 + (length - least) / 12) {
      ASSERT_TRUE(WholeRun::make(graph, length).ok()) << length << text;
      EXPECT_EQ(stream_problem(graph, &*streamed, length), "") << pulse << ", " << length << text;
      EXPECT_EQ(stream_problem(graph, &*reloaded, length), "") << pulse << ", " << length << text;
    }
  }
}

/// As above, and move states between the pulses.
void expect_whole(const std::string& text, const std::vector<int64_t>& pulses, int64_t least = 1) {
  expect_frames_of_all(text, pulses, least);
  Tally tally;
  for (const uint64_t seed : {7, 8, 9, 10}) {
    EXPECT_EQ(journey_problem(loaded(text), pulses, seed, &tally), "") << text;
  }
  EXPECT_GT(tally.compared, 0) << text;
}

/// Return the outputs of the whole graph for inputs 1, 2, 3, ...
std::vector<Tensor> counted(const std::string& text, int64_t length) {
  const Graph graph = loaded(text);
  auto whole = WholeRun::make(graph, length);
  EXPECT_TRUE(whole.ok()) << whole.error().to_string();
  if (!whole.ok()) return {};
  std::vector<Tensor> inputs = noise_inputs(graph, length, 1);
  for (Tensor& input : inputs) {
    for (int64_t i = 0; i < input.volume(); ++i) {
      input.mutable_data<float>()[i] = static_cast<float>(i + 1);
    }
  }
  return whole->run(inputs);
}

void expect_values(const Tensor& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.volume(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(found.data<float>()[i], expected[i]) << i;
}

// x = 1, 2, 3 moves through two states: the previous frame and the one before it.
TEST(States, ThatReadOtherStatesReadThoseBeforeTheIteration) {
  struct Shift {
    const char* body;
    std::vector<float> frames;
    std::vector<float> last;  ///< the last states of a and b
  };
  const Shift shifts[] = {{"a_t = v; b_t = a; o = b;", {0.25F, 0.5F, 1.0F}, {3.0F, 2.0F}},
                          {"a_t = b; b_t = v; o = a;", {0.5F, 0.25F, 1.0F}, {2.0F, 3.0F}}};
  for (const Shift& shift : shifts) {
    const std::string text = document(
        "S, 1",
        "  (y, o1, a1, b1) = tract_core_scan('shift', scan = [('v', x, 0, 1)], full = [], "
        "state = [('a', [[0.5]], 'a_t'), ('b', [[0.25]], 'b_t')], output = [('o', 'full', 0, 1), "
        "('o', 'last', 0, 1), ('a_t', 'last', 0, 1), ('b_t', 'last', 0, 1)], skip = 0, "
        "reset_every_turn = false);\n",
        "y, o1, a1, b1",
        str_cat("fragment shift(a: tensor<scalar>, b: tensor<scalar>, v: tensor<scalar>) -> "
                "(a_t: tensor<scalar>, b_t: tensor<scalar>, o: tensor<scalar>) { ",
                shift.body, " }\n"));
    const std::vector<Tensor> found = counted(text, 3);
    ASSERT_EQ(found.size(), 4U);
    expect_values(found[0], shift.frames);
    expect_values(found[1], {shift.frames.back()});
    expect_values(found[2], {shift.last[0]});
    expect_values(found[3], {shift.last[1]});
    expect_whole(text, {1, 2, 3});
  }
}

// h = 0 before every iteration of the outer loop: 1 + 2 + 3 + 4, and 5 + 6 + 7 + 8.
TEST(States, OfALoopWithinALoopRestartInEveryIteration) {
  const std::string text = document(
      "S, 4",
      "  y = tract_core_scan('outer', scan = [('x', x, 0, 1)], full = [], "
      "state = [('g', [[0.0]], 'g_t')], output = [('g_t', 'full', 0, 1)], skip = 0, "
      "reset_every_turn = false);\n",
      "y",
      "fragment inner(h: tensor<scalar>, v: tensor<scalar>) -> (h_t: tensor<scalar>) "
      "{ h_t = h + v; }\n"
      "fragment outer(g: tensor<scalar>, x: tensor<scalar>) -> (g_t: tensor<scalar>) {\n"
      "  s = tract_core_scan('inner', scan = [('v', x, 1, 1)], full = [], "
      "state = [('h', [[0.0]], 'h_t')], output = [('h_t', 'last', 1, 1)], skip = 0, "
      "reset_every_turn = false);\n  g_t = g * 0.5 + s; }\n");
  const std::vector<Tensor> found = counted(text, 2);
  ASSERT_EQ(found.size(), 1U);
  expect_values(found[0], {10.0F, 31.0F});
  expect_whole(text, {1, 2, 3});
}

TEST(States, OfALoopWithoutIterationsAreTheInitialOnes) {
  const std::string text =
      along(str_cat("  z = ", loop(trimmed("x", 3, 3), kLast), ";\n  y = x + z;\n"), "y, z");
  const std::vector<Tensor> found = counted(text, 4);
  ASSERT_EQ(found.size(), 2U);
  expect_values(found[1], {0.5F, -1.0F});
  expect_frames_of_all(text, {1, 2, 3}, 3);
}

TEST(States, OfSkippedIterationsDoNotChange) {
  const std::string both = str_cat(kFull, ", ", kLast);
  const std::string text = along(str_cat("  (y, z) = ", loop("x", both, 1, 2), ";\n"), "y, z");
  // Iterations 0 and 1 are skipped: 0.5 / 2 + 5, then 5.25 / 2 + 7; -1 / 2 + 6, then 5.5 / 2 + 8.
  const std::vector<Tensor> found = counted(text, 4);
  ASSERT_EQ(found.size(), 2U);
  expect_values(found[0], {0.0F, 0.0F, 0.0F, 0.0F, 5.25F, 5.5F, 9.625F, 10.75F});
  expect_values(found[1], {9.625F, 10.75F});
  expect_whole(text, {1, 2, 3});
  // A loop over features skips them in every pulse.
  expect_whole(document("S, 3, 2",
                        "  y = tract_core_scan('leaky', scan = [('v', x, 1, 1)], full = [], "
                        "state = [('h', 0.0 * slice(x, axes = [1], begin = [0], end = [1]), "
                        "'h_t')], output = [('h_t', 'full', 1, 1)], skip = 2, "
                        "reset_every_turn = false);\n",
                        "y", kLeaky),
               {1, 2, 3});
}

TEST(States, OfInputsThatEndEarly) {
  const std::string both = str_cat(kFull, ", ", kLast);
  for (const int cut : {1, 2, 3, 7, 15}) {
    const std::string c = str_cat("  c = ", trimmed("x", 0, -cut), ";\n");
    expect_whole(along(str_cat(c, "  y = ", loop("c", kLast), ";\n")), {1, 2, 4},
                 cut + 1);
    const std::string frames = along(str_cat(c, "  (y, z) = ", loop("c", both), ";\n"), "y, z");
    expect_whole(frames, {1, 2, 4}, cut + 1);
    // Only the output that is known at the end waits for the end; the frames do not.
    auto streamed = StreamedRun::make(loaded(frames), 1);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    EXPECT_EQ(streamed->output(0).delay, 0);
  }
  const std::string late = str_cat("  c = ", trimmed(trimmed("x", 3, 0), 0, -4), ";\n");
  expect_whole(along(str_cat(late, "  (y, z) = ", loop("c", both), ";\n"), "y, z"), {1, 2, 4},
               8);
}

TEST(States, OfFramesThatAreKept) {
  const std::string both = str_cat(kFull, ", ", kLast);
  for (const auto& [begin, end] : {std::pair{0, 1}, {0, 3}, {2, 3}, {5, 9}}) {
    expect_whole(along(str_cat("  (f, z) = ", loop(trimmed("x", begin, end), both),
                               ";\n  y = x + z;\n"),
                       "y, f"),
                 {1, 2, 5}, end);
  }
}

// The last of the kept frames arrives after the end of the input.
TEST(StillWires, OfKeptFramesAreKnownOnceTheseArrive) {
  for (const int last : {1, 3, 4}) {
    const std::string window = conv("x", {6, 1, 1, 0, 5});
    expect_whole(document("1, 1, S",
                          str_cat("  y = x * 2.0;\n  f = ", slice(window, 0, last), ";\n"), "y, f"),
                 {1, 2, 3}, last);
  }
}

// At a pulse of 1 the loop waits for its first state and lags, so its state does not move to other
// pulses.
TEST(States, ThatWaitForFramesMoveBetweenPulsesThatWaitEquallyLong) {
  std::string text = along(str_cat("  z = ", loop("x", kLast), ";\n  y = x * 2.0;\n"), "y, z");
  const std::string first = "[[[0.5, -1.0]]]";
  text.replace(text.find(first), first.size(), trimmed("x", 2, 3));
  expect_whole(text, {1, 2, 3, 5}, 3);
}

// The last pulse of a stream may hold any number of frames; NaN fills the rest.
TEST(States, OfBackwardLoopsWithinPulsesBeginAtTheEndOfTheStream) {
  const std::string text =
      along(str_cat("  c = ", trimmed("x", 0, -2),
                    ";\n  y = ", loop("c", "('h_t', 'full', 1, -1)", -1), ";\n"));
  const Graph graph = loaded(text);
  for (const int64_t pulse : {1, 3, 4}) {
    pulse::Options options;
    options.pulse = Dim(pulse);
    options.backward_chunks = true;
    auto streamed = StreamedRun::make(graph, options);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    const int64_t delay = streamed->output().delay;
    for (int64_t length = 3; length <= 14; ++length) {
      const std::vector<Tensor> inputs = noise_inputs(graph, length, 5);
      auto frames = streamed->run(inputs, length);
      ASSERT_TRUE(frames.ok()) << frames.error().to_string();
      const float* x = inputs[0].data<float>();
      const int64_t count = length - 2;
      ASSERT_EQ((*frames)[0].shape(), (std::vector<int64_t>{1, count, 2}));
      for (int64_t k = 0; k < 2; ++k) {
        float h = 0;
        for (int64_t t = count - 1; t >= 0; --t) {
          const bool begins = t == count - 1 || (t + 1 + delay) % pulse == 0;
          h = (begins ? (k == 0 ? 0.5F : -1.0F) : h) * 0.5F + x[t * 2 + k];
          EXPECT_EQ((*frames)[0].data<float>()[t * 2 + k], h)
              << "pulse " << pulse << ", length " << length << ", frame " << t;
        }
      }
    }
  }
}

/// Return frames [begin, end) of a tensor [lanes, frames, features].
Tensor part_of(const Tensor& x, int64_t begin, int64_t end) {
  const int64_t lanes = x.extent(0);
  const int64_t width = x.extent(2);
  Tensor out = std::move(Tensor::zeros(DType::kF32, {lanes, end - begin, width})).value();
  for (int64_t lane = 0; lane < lanes; ++lane) {
    std::copy_n(x.data<float>() + (lane * x.extent(1) + begin) * width, (end - begin) * width,
                out.mutable_data<float>() + lane * (end - begin) * width);
  }
  return out;
}

// Each pulse gives the results of a whole run over its frames alone, also for a fused layer.
TEST(States, OfBackwardLayersWithinPulsesAreThoseOfRunsOverTheirFrames) {
  const Graph graph = loaded(document(
      "2, S, 6",
      "  r = [[0.3, -0.2], [0.5, 0.1], [-0.7, 0.4], [0.2, 0.9], [-0.3, 0.4], [0.1, 0.6]];\n"
      "  (y, h) = tract_core_gru_seq(x = x, r = r, initial_h = [[[0.5, -0.25]], [[0.125, 0.75]]], "
      "hidden = 2, chunk = -1, projected = 1);\n"));
  for (const int64_t pulse : {1, 3, 4}) {
    pulse::Options options;
    options.pulse = Dim(pulse);
    options.backward_chunks = true;
    auto streamed = StreamedRun::make(graph, options);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    for (int64_t length = 1; length <= 13; ++length) {
      const std::vector<Tensor> inputs = noise_inputs(graph, length, 5);
      auto frames = streamed->run(inputs, length);
      ASSERT_TRUE(frames.ok()) << frames.error().to_string();
      for (int64_t begin = 0; begin < length; begin += pulse) {
        const int64_t end = std::min(length, begin + pulse);
        auto whole = WholeRun::make(graph, end - begin);
        ASSERT_TRUE(whole.ok()) << whole.error().to_string();
        const Tensor want = whole->run({part_of(inputs[0], begin, end)})[0];
        EXPECT_EQ(difference(part_of((*frames)[0], begin, end), want), "")
            << "pulse " << pulse << ", length " << length << ", from frame " << begin;
      }
    }
  }
}

TEST(States, OfLoopsThatReadAndWriteInTwoDirectionsAreRefused) {
  const std::string reversed = loop("x", "('h_t', 'full', 1, -1)");
  expect_refused(along(str_cat("  y = ", reversed, ";\n")), 4, "y", "Scan");
}

// At a pulse of 1 the last row of the matmul has the shape of a frame.
TEST(StillWires, HaveTheSameBitsForAnyPulse) {
  std::string text = document(
      "2, S, 3",
      "  u = tract_core_external(shape = [2, 4, 5], datum_type = 'f32');\n"
      "  w = [[[0.31, 0.71, -0.13, 0.17, 0.37], [0.11, 0.73, 0.53, -0.27, 0.33], "
      "[-0.31, 0.45, 0.13, 0.87, 0.35]]];\n"
      "  m = linear(u, w, [[[0.3, -0.7, 0.12345]]]);\n"
      "  y = x + slice(m, axes = [1], begin = [3], end = [4]);\n");
  text.replace(text.find("network(x)"), 10, "network(x, u)");
  expect_whole(text, {1, 2, 5});
}

/// Crop the stream to whole chunks: n / chunk * chunk of n frames.
std::string whole_chunks(int chunk) {
  return str_cat(
      "  n = squeeze(slice(tract_core_shape_of(x), axes = [0], begin = [1], end = [2]), "
      "axes = [0]);\n  z = slice(x, axes = [1], begin = [0], end = [(n / ",
      chunk, ") * ", chunk, "]);\n");
}

// With pulses of 24 from frame 0, every pulse ends with a chunk of 12, so that no chunk waits for
// the end. From frame 8 none does: 8 of the first 32 frames may lie after the end.
TEST(States, OfStreamsCutToWholeChunksMoveBetweenEqualStates) {
  for (const int chunk : {3, 12, 35}) {
    // Frames that pass before the end is announced wait at the output, before joined frames, and
    // before a loop whose last state is an output.
    for (const std::string& end :
         {std::string("copy(z)"), std::string("concat([z, [[[1.0, 2.0]]]], axis = 1)"),
          loop("z", kLast)}) {
      const Graph graph = loaded(along(str_cat(whole_chunks(chunk), "  y = ", end, ";\n")));
      Tally tally;
      for (uint64_t seed = 0; seed < 100; ++seed) {
        EXPECT_EQ(journey_problem(graph, {1, 3, 8, 24, 35}, seed, &tally), "") << chunk << end;
      }
      EXPECT_GT(tally.moved, 40) << chunk << end;
    }
  }
}

// For S = 5, x[4:-1] is empty, so it has no last frame; x[3] is not a frame of it.
TEST(States, HaveNoLastFrameOfNoFrames) {
  const std::string text =
      along(str_cat("  v = ", trimmed("x", 4, -1), ";\n  y = concat([v, ", trimmed("v", -1, 0),
                    "], axis = 1);\n"));
  const Graph graph = loaded(text);
  EXPECT_FALSE(WholeRun::make(graph, 5).ok());
  for (const int64_t pulse : {1, 2, 7, 44}) {
    auto streamed = StreamedRun::make(graph, pulse);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    EXPECT_FALSE(streamed->run(noise_inputs(graph, 5, 1), 5).ok()) << pulse;
    EXPECT_EQ(stream_problem(graph, &*streamed, 6), "") << pulse;
  }
}

// At S=1 the convolution has no frames. The 4 joined frames remain, and the slice drops one: 3. A
// negative frame count would leave 2.
TEST(States, FramesOfStreamsShorterThanAWindowAreNotNegative) {
  const std::string joined =
      "  v = conv(x, [[[1.0, 2.0, 1.0]]], 0.0, padding = [(0, 0)], border = 'constant');\n"
      "  z = concat([v, [[[1.0, 2.0, 3.0, 4.0]]]], axis = 2);\n";
  const std::string texts[] = {
      document("1, 1, S", joined + "  y = slice(z, axes = [2], begin = [1], end = [0]);\n", "y"),
      document("1, 1, S",
               joined +
                   "  rows = transpose(z, axes = [0, 2, 1]);\n"
                   "  n = slice(tract_core_shape_of(z), axes = [0], begin = [2], end = [3]);\n"
                   "  r = tract_core_range(0, squeeze(n, axes = [0]), 1);\n"
                   "  apart = unsqueeze(r, axes = [0, 2]) - unsqueeze(r, axes = [0, 1]);\n"
                   "  m = select((apart <= 3) && (apart >= 0), "
                   "matmul(rows, rows, transposeB = true), 0.0 - 1.0 / 0.0);\n"
                   "  y = matmul(softmax(m, axes = [2]), rows);\n",
               "y"),
      document("1, 1, S",
               joined + "  w = slice(z, axes = [2], begin = [1], end = [0]);\n"
                        "  y = z - pad(w, padding = [(0, 0), (0, 0), (0, 1)], "
                        "border = 'replicated', value = 0.0);\n",
               "y"),
  };
  for (const std::string& text : texts) {
    const Graph graph = loaded(text);
    const auto whole = WholeRun::make(graph, 1);
    EXPECT_FALSE(whole.ok()) << text;
    for (const int64_t pulse : {1, 4}) {
      auto streamed = StreamedRun::make(graph, pulse);
      ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
      EXPECT_FALSE(streamed->run(noise_inputs(graph, 1, 1), 1).ok()) << pulse << text;
      for (const int64_t length : {2, 3, 9}) {
        EXPECT_EQ(stream_problem(graph, &*streamed, length, 2e-6), "") << pulse << text;
      }
    }
  }
}

// For S=0 the first convolution gives 0 frames, the second gives 3 from its padding, and the last
// gives 1. A negative frame count would give 0.
TEST(States, FramesThatAWholeRunMakesOfNoneAreNotLeftOut) {
  const std::string window = ", border = 'constant', padding = [";
  const std::string text =
      document("1, 1, S", str_cat("  v = conv(x, [[[1.0, 2.0]]], 0.0", window,
                                  "(0, 0)]);\n  z = conv(v, [[[1.0, 2.0, 1.0]]], 1.0", window,
                                  "(2, 3)]);\n  y = conv(z, [[[1.0, 2.0, 1.0]]], 0.0", window,
                                  "(0, 0)]);\n"));
  const Graph graph = loaded(text);
  const auto whole = WholeRun::make(graph, 0);
  ASSERT_TRUE(whole.ok());
  for (const int64_t pulse : {1, 4}) {
    auto streamed = StreamedRun::make(graph, pulse);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    auto reloaded = streamed->reloaded();
    ASSERT_TRUE(reloaded.ok()) << reloaded.error().to_string();
    EXPECT_FALSE(streamed->run(noise_inputs(graph, 0, 1), 0).ok()) << pulse;
    EXPECT_FALSE(reloaded->run(noise_inputs(graph, 0, 1), 0).ok()) << pulse;
    for (const int64_t length : {1, 2, 9}) {
      EXPECT_EQ(stream_problem(graph, &*streamed, length), "") << pulse;
    }
  }
}

// max(S - 3000, 0) equals S - 3000 only for S >= 3000.
TEST(States, LengthsThatAreEqualFarOutMeet) {
  const Graph graph = loaded(document(
      "1, 1, S",
      "  n = squeeze(slice(tract_core_shape_of(x), axes = [0], begin = [2], end = [3]), axes = "
      "[0]);\n  a = slice(x, axes = [2], begin = [0], end = [max(n - 3000, 0)]);\n"
      "  b = slice(x, axes = [2], begin = [3000], end = [n]);\n  y = a - b;\n"));
  for (const int64_t pulse : {7, 500}) {
    auto streamed = StreamedRun::make(graph, pulse);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    for (const int64_t length : {3002, 3507, 4000}) {
      EXPECT_EQ(stream_problem(graph, &*streamed, length), "") << pulse << ", " << length;
    }
  }
}

// A GRU of one iteration over a static frame is fused to a layer, as one of many iterations is.
TEST(States, OfLayersWithOneIterationHaveTheBitsOfLayers) {
  const auto text = [](const std::string& output) {
    return str_cat(
        "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n",
        kGruLoop,
        "graph network(x, side) -> (y)\n{\n"
        "  x = tract_core_external(shape = [S, 1, 2], datum_type = 'f32');\n"
        "  side = tract_core_external(shape = [1, 1, 2], datum_type = 'f32');\n"
        "  r = matmul(side, [[[0.856, -0.245], [-0.375, -0.521]]], transposeB = true);\n"
        "  z = matmul(side, [[[-0.118, -0.072], [0.388, 0.533]]], transposeB = true);\n"
        "  n = matmul(side, [[[0.870, -0.915], [0.480, 0.306]]], transposeB = true);\n"
        "  h = tract_core_scan(body = 'gru_loop', scan = [('r_x', r, 0, 1), ('z_x', z, 0, 1), "
        "('n_x', n, 0, 1)], full = [('W_r', [[[0.890, -0.472], [0.681, -0.373]]]), ('W_z', "
        "[[[-0.504, 0.674], [0.983, 0.022]]]), ('W_n', [[[-0.818, -0.169], [-0.623, -0.096]]]), "
        "('b_n', [[[-0.243, -0.004]]])], state = [('h', [[[0.740, -0.476]]], 'h_t')], output = "
        "[('h_t', '",
        output, "', 0, 1)], skip = 0);\n  y = x + h;\n}\n");
  };
  for (const char* output : {"full", "last"}) {
    const Graph graph = loaded(text(output));
    for (const int64_t pulse : {1, 4}) {
      auto streamed = StreamedRun::make(graph, pulse);
      ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
      auto reloaded = streamed->reloaded();
      ASSERT_TRUE(reloaded.ok()) << reloaded.error().to_string();
      for (int64_t length = 1; length < 40; ++length) {
        EXPECT_EQ(stream_problem(graph, &*streamed, length), "") << pulse << output;
        EXPECT_EQ(stream_problem(graph, &*reloaded, length), "") << pulse << output;
      }
    }
  }
}

/// Return the most elements that a step of the stream copies from a ring.
int64_t most_copied(const Plan& plan) {
  int64_t most = 0;
  for (const Step& step : plan.steps) {
    if (step.kind->name != std::string_view("copy")) continue;
    const auto& args = *static_cast<const CopyArgs*>(step.args);
    if (plan.buffers[args.from.ref.buffer].kind != BufferKind::kRing) continue;
    most = std::max(most, args.from.volume());
  }
  return most;
}

// A ring has the layout that its windows read, in whatever layout frames arrive.
TEST(KeptFrames, AreReadWhereTheyLie) {
  const std::string to_end = ", padding = [(0, 0), (0, 0), (28, 0)], border = 'constant')";
  for (const std::string x : {"x", "tanh(x)"}) {
    const std::string filter = nested_list({2, 6, 5}, [] { return std::string("0.375"); });
    for (const std::string& window :
         {str_cat("box(", x, ", size = [1, 1, 29], normalize = true", to_end),
          str_cat("max_pool(", x, ", size = [1, 1, 29]", to_end),
          str_cat("conv(", x, ", ", filter, ", 0.0, dilation = [7], padding = [(28, 0)])"),
          str_cat("deconv(", x, ", ", filter, ", 0.0, dilation = [7], padding = [(0, 28)])")}) {
      const std::string text = document("1, 6, S", str_cat("  y = ", window, ";\n"));
      for (const int64_t pulse : {1, 5}) {
        auto streamed = StreamedRun::make(loaded(text), pulse);
        ASSERT_TRUE(streamed.ok()) << streamed.error().to_string() << text;
        EXPECT_EQ(most_copied(streamed->session().plan()), 0) << text;
        expect_frames(text, pulse);
      }
    }
  }
}

}  // namespace
}  // namespace rill::test
