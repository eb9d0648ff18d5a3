// Models with outputs fed back to inputs, against the same models with a caller that passes the
// values on.

#include <gtest/gtest.h>

#include "audit/drive.h"
#include "core/base/splitmix.h"
#include "core/exec/feed.h"
#include "core/exec/plan.h"
#include "core/optim/optim.h"
#include "core/tensor/frames.h"
#include "pulse/feedback.h"
#include "tests/property/streaming.h"

namespace rill::test {
namespace {

constexpr int64_t kStates = 3;

/// A step with two states and an inner loop that restarts: y depends on all frames of the step, z
/// on each frame alone.
std::string model(int64_t frames) {
  const std::string n = str_cat(frames);
  return "version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol B;\n"
         "fragment cell(x: tensor<scalar>, s: tensor<scalar>) -> (t: tensor<scalar>)\n"
         "{ t = 0.5 * s + x; }\n"
         "graph network(x, h, c) -> (y, z, h_next, c_next)\n{\n"
         "  x = tract_core_external(shape = [B, " +
         n +
         "], datum_type = 'f32');\n"
         "  h = tract_core_external(shape = [B, 3], datum_type = 'f32');\n"
         "  c = tract_core_external(shape = [2, B], datum_type = 'f32');\n"
         "  mean = mean_reduce(x, axes = [1]);\n"
         "  h_next = tanh(0.7 * h + mean);\n"
         "  first = slice(c, axes = [0], begin = [0], end = [1]);\n"
         "  last = slice(c, axes = [0], begin = [1], end = [2]);\n"
         "  c_next = concat([last, 0.25 * first + transpose(mean, axes = [1, 0])], axis = 0);\n"
         "  zero = tract_core_broadcast(0.0, shape = [B, 1]);\n"
         "  run = tract_core_scan(body = \"cell\", scan = [(\"x\", x, 1, 1)], full = [],\n"
         "      state = [(\"s\", zero, \"t\")], output = [(\"t\", \"full\", 1, 1)]);\n"
         "  z = run + transpose(first, axes = [1, 0]);\n"
         "  y = sum_reduce(h_next, axes = [1]) + transpose(last, axes = [1, 0]);\n}\n";
}

Tensor zeros(std::vector<int64_t> shape) {
  return std::move(Tensor::zeros(DType::kF32, std::move(shape))).value();
}

struct Case {
  int64_t batch;
  int64_t frames;   ///< frames per run of the model
  int64_t context;  ///< of these, the frames of the previous step
  int64_t steps;
};

Tensor noise(const Case& c, int64_t count, uint64_t seed) {
  Splitmix64 draw(seed);
  Tensor x = zeros({c.batch, count});
  for (int64_t i = 0; i < x.volume(); ++i) {
    x.mutable_data<float>()[i] = static_cast<float>(2 * draw.unit() - 1);
  }
  return x;
}

/// Return frames [from, to) of a signal, with zeros before its start.
Tensor window(const Tensor& x, int64_t from, int64_t to) {
  Tensor out = zeros({x.extent(0), to - from});
  for (int64_t b = 0; b < x.extent(0); ++b) {
    for (int64_t t = std::max<int64_t>(0, from); t < to; ++t) {
      out.mutable_data<float>()[b * (to - from) + t - from] = x.data<float>()[b * x.extent(1) + t];
    }
  }
  return out;
}

/// Return y and z, concatenated over the steps of a caller that passes the states on.
std::vector<Tensor> by_hand(const Case& c, const Tensor& x) {
  const Graph graph = std::move(load_text(model(c.frames))).value();
  const Graph bound = std::move(graph.with_symbol("B", Dim(c.batch))).value();
  auto run = WholeRun::make(bound, 1);
  const int64_t fresh = c.frames - c.context;
  Tensor h = zeros({c.batch, kStates});
  Tensor state = zeros({2, c.batch});
  std::vector<Tensor> out = {zeros({c.batch, c.steps}), zeros({c.batch, c.steps * c.frames})};
  for (int64_t step = 0; step < c.steps; ++step) {
    const Tensor part = window(x, step * fresh - c.context, (step + 1) * fresh);
    std::vector<Tensor> got = run->run({part, h, state});
    copy_view(got[0].view(), frames_of(out[0].view(), 1, step, 1));
    copy_view(got[1].view(), frames_of(out[1].view(), 1, step * c.frames, c.frames));
    h = got[2];
    state = got[3];
  }
  return out;
}

Result<Graph> tied(const Case& c, bool context_first) {
  RILL_ASSIGN(Graph graph, load_text(model(c.frames)));
  if (context_first && c.context > 0) {
    RILL_ASSIGN(graph, pulse::with_context(graph, "x", c.context));
    RILL_ASSIGN(graph, declutter(graph));
  }
  RILL_ASSIGN(graph, pulse::with_feedback(graph, "h_next", "h"));
  RILL_ASSIGN(graph, declutter(graph));
  RILL_ASSIGN(graph, pulse::with_feedback(graph, "c_next", "c"));
  if (!context_first && c.context > 0) {
    RILL_ASSIGN(graph, pulse::with_context(graph, "x", c.context));
  }
  RILL_ASSIGN(graph, graph.with_symbol("B", Dim(c.batch)));
  return declutter(graph);
}

Case drawn(uint64_t seed) {
  Splitmix64 draw(seed);
  Case c{draw.in(1, 4), draw.in(2, 40), 0, draw.in(1, 30)};
  c.context = draw.in(0, c.frames - 1);
  return c;
}

class Feedback : public ::testing::TestWithParam<uint64_t> {};

TEST_P(Feedback, GivesTheFramesOfACallerThatPassesTheStates) {
  const Case c = drawn(GetParam());
  const int64_t fresh = c.frames - c.context;
  // An incomplete step never runs.
  const int64_t count = c.steps * fresh + static_cast<int64_t>(GetParam()) % fresh;
  const Tensor x = noise(c, count, GetParam());
  const std::vector<Tensor> expected = by_hand(c, x);
  for (const bool context_first : {false, true}) {
    const auto graph = tied(c, context_first);
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    ASSERT_EQ(graph->inputs.size(), 1U);
    ASSERT_EQ(graph->output_names, (std::vector<std::string>{"y", "z"}));
    const auto plan = prepare(*graph);
    ASSERT_TRUE(plan.ok()) << plan.error().to_string();
    const auto session = std::move(Session::make(*plan)).value();
    for (int round = 0; round < 2; ++round) {
      const auto got = audit::run_stream(session.get(), std::vector<Tensor>{x}, count, {});
      ASSERT_TRUE(got.ok()) << got.error().to_string();
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(difference(got->outputs[i], expected[i]), "") << "output " << i;
      }
    }
  }
}

TEST_P(Feedback, TakesAnyNumberOfFramesAndGivesAStepAtOnce) {
  const Case c = drawn(GetParam());
  const int64_t fresh = c.frames - c.context;
  const Tensor x = noise(c, c.steps * fresh, GetParam());
  const std::vector<Tensor> expected = by_hand(c, x);
  const auto graph = tied(c, false);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  const auto session = std::move(Session::make(std::move(prepare(*graph)).value())).value();
  const auto feed = std::move(Feed::make(session.get(), c.frames)).value();
  Tensor y = zeros({c.batch, c.steps});
  Tensor rest = zeros({c.batch, c.steps * c.frames});
  Splitmix64 draw(GetParam() + 1);
  int64_t given = 0;
  int64_t pulled = 0;
  while (given < x.extent(1)) {
    const int64_t end = std::min(x.extent(1), given + draw.in(1, 2 * fresh));
    given += feed->push(0, frames_of(x.view(), 1, given, end - given));
    pulled += feed->pull(0, frames_of(y.view(), 1, pulled, c.steps - pulled));
    (void)feed->pull(1, rest.view());
    // A step runs as soon as its frames have arrived.
    EXPECT_EQ(pulled, given / fresh);
  }
  EXPECT_EQ(difference(y, expected[0]), "");
}

INSTANTIATE_TEST_SUITE_P(Seed, Feedback, ::testing::Range<uint64_t>(0, 60));

TEST(FeedbackErrors, NameTheExistingValues) {
  const Graph graph = std::move(load_text(model(8))).value();
  const auto text = [](const Result<Graph>& made) {
    return made.ok() ? std::string("made") : made.error().to_string();
  };
  EXPECT_NE(text(pulse::with_feedback(graph, "hn", "h")).find("y, z, h_next, c_next"),
            std::string::npos);
  EXPECT_NE(text(pulse::with_feedback(graph, "h_next", "g")).find("x, h, c"), std::string::npos);
  EXPECT_NE(text(pulse::with_feedback(graph, "c_next", "x")).find("expected the same"),
            std::string::npos)
      << text(pulse::with_feedback(graph, "c_next", "x"));
  EXPECT_NE(text(pulse::with_context(graph, "x", 8)).find("fewer than the input has"),
            std::string::npos);
  EXPECT_NE(text(pulse::with_context(graph, "x", 0)).find("1 or more"), std::string::npos);
}

TEST(FeedbackErrors, NameTheTiedValue) {
  const auto text = [](const Result<Graph>& made) {
    return made.ok() ? std::string("made") : made.error().to_string();
  };
  const Graph graph = std::move(load_text(model(8))).value();
  const auto tied = pulse::with_feedback(graph, "h_next", "h");
  ASSERT_TRUE(tied.ok()) << text(tied);
  EXPECT_NE(text(pulse::with_feedback(*tied, "c_next", "h")).find("\"h\" is fed back already"),
            std::string::npos);
  EXPECT_NE(text(pulse::with_feedback(*tied, "h_next", "c")).find("\"h_next\" is fed back already"),
            std::string::npos);
  const auto wider = pulse::with_context(graph, "x", 3);
  ASSERT_TRUE(wider.ok()) << text(wider);
  EXPECT_NE(text(pulse::with_context(*wider, "x", 3)).find("the step before already"),
            std::string::npos);
}

}  // namespace
}  // namespace rill::test
