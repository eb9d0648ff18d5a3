// Layers that attend to chunks, with pulses shorter than a chunk: each layer waits for its chunk,
// and inspections name the pulse with which only one wait remains. Chunks, layers, strides and
// pulses are random; lags are counted on streams.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "audit/latency.h"
#include "core/base/splitmix.h"
#include "core/exec/feed.h"
#include "pulse/choice.h"
#include "tests/property/pulse_cases.h"

namespace rill::test {
namespace {

struct Drawn {
  int64_t size = 0;    ///< frames of a chunk, after the stride
  int64_t right = 0;   ///< chunks to the right that a query sees
  int64_t layers = 0;
  int64_t stride = 1;
  int64_t pulse = 0;   ///< below the chunk

  int64_t chunk() const { return size * stride; }
};

/// Return a document: a pool of stride `stride`, then a chain of layers that attend to chunks.
std::string document_of(const Drawn& drawn) {
  std::string text = str_cat(
      "  z0 = transpose(max_pool(transpose(x, axes = [0, 2, 1]), size = [1, 1, ", drawn.stride,
      "], stride = [1, 1, ", drawn.stride,
      "], dilation = [1, 1, 1], padding = [(0, 0), (0, 0), (0, 0)], border = 'ignore'), "
      "axes = [0, 2, 1]);\n  n = tract_core_range(0, S / ", drawn.stride,
      ", 1);\n  row = unsqueeze(n, axes = [0, 2]);\n  column = unsqueeze(n, axes = [0, 1]);\n"
      "  apart = row / ", drawn.size, " - column / ", drawn.size,
      ";\n  seen = (apart <= 2) && (apart >= ", -drawn.right, ");\n");
  for (int64_t i = 0; i < drawn.layers; ++i) {
    text += str_cat("  s", i, " = matmul(z", i, " * 0.7, z", i, " * 0.3, transposeB = true);\n  z",
                    i + 1, " = matmul(softmax(select(seen, s", i,
                    ", 0.0 - 1.0 / 0.0), axes = [2]), z", i, ");\n");
  }
  return document("1, S, 4", text + str_cat("  y = copy(z", drawn.layers, ");\n"));
}

Drawn draw(Splitmix64* random) {
  const auto in = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random->next() % static_cast<uint64_t>(high - low + 1));
  };
  Drawn out;
  out.size = in(2, 16);
  out.right = in(0, 3) == 0 ? 1 : 0;
  out.layers = in(2, 5);
  out.stride = int64_t{1} << in(0, 2);
  out.pulse = in(1, out.size - 1) * out.stride;
  return out;
}

/// Return the maximum lag of the outputs of a stream in frames, if `pushed_by` frames are pushed at
/// a time.
int64_t most_lag(const Graph& graph, int64_t pulse, int64_t pushed_by, int64_t stride) {
  auto streamed = StreamedRun::make(graph, pulse);
  EXPECT_TRUE(streamed.ok()) << streamed.error().to_string();
  if (!streamed.ok()) return -1;
  const auto plan = prepare(streamed->graph());
  EXPECT_TRUE(plan.ok()) << plan.error().to_string();
  const auto session = Session::make(*plan);
  const auto feed = Feed::make(session->get(), 0);
  const auto in = Tensor::zeros(DType::kF32, {1, pushed_by, 4});
  const auto out = Tensor::zeros(DType::kF32, {1, 4 * pulse, 4});
  int64_t most = 0;
  int64_t given = 0;
  for (int64_t pushed = 0; pushed < 12 * pulse;) {
    EXPECT_EQ((*feed)->push(0, in->view()), pushed_by);
    pushed += pushed_by;
    given += (*feed)->pull(0, out->view());
    most = std::max(most, pushed - given * stride);
  }
  return most;
}

TEST(ChunkLatency, InspectionsNameThePulseThatWaitsOnce) {
  Splitmix64 random(14);
  int64_t found = 0;
  for (int i = 0; i < 40; ++i) {
    const Drawn drawn = draw(&random);
    SCOPED_TRACE(str_cat("chunks of ", drawn.size, ", ", drawn.right, " to the right, ",
                         drawn.layers, " layers, stride ", drawn.stride, ", pulse ", drawn.pulse));
    const Graph graph = loaded(document_of(drawn));
    pulse::Options options;
    options.pulse = Dim(drawn.pulse);
    pulse::Report report;
    const auto pulsed = pulse::pulsify(graph, options, &report);
    ASSERT_TRUE(pulsed.ok()) << pulsed.error().to_string();
    constexpr double kNoLimit = 1e9;
    const auto latency = audit::latency_of(&graph, *pulsed, report, options, kNoLimit);
    ASSERT_TRUE(latency.ok()) << latency.error().to_string();
    const audit::OutputLatency& output = latency->outputs[0];
    // Each layer waits for the missing frames of its chunk: see docs/what-streams.md.
    ASSERT_TRUE(output.least);
    EXPECT_LE(*output.least, output.stream.delay);
    EXPECT_EQ(output.losing.empty(), *output.least == output.stream.delay);
    for (const int at : output.losing) {
      EXPECT_GT(latency->wires[static_cast<size_t>(at)].loses, 0);
    }
    if (drawn.right > 0) continue;
    // Only attention waits, and the first layer adds no avoidable delay.
    for (const int at : output.losing) {
      const pulse::Wire& wire = latency->wires[static_cast<size_t>(at)].wire;
      EXPECT_NE(wire.name, "z1") << wire.op;
    }
    ASSERT_TRUE(latency->chunk);
    EXPECT_EQ(latency->chunk->pulse, drawn.chunk());
    const int64_t lag = most_lag(graph, drawn.chunk(), drawn.pulse, drawn.stride);
    EXPECT_EQ(latency->chunk->latency, static_cast<double>(lag));
    EXPECT_LT(lag, most_lag(graph, drawn.pulse, drawn.pulse, drawn.stride));
    ++found;
  }
  EXPECT_GT(found, 20);
}

// With a pulse of a whole chunk no layer adds an avoidable delay.
TEST(ChunkLatency, AWholeChunkHasNoPulseThatWaitsLess) {
  for (const int64_t size : {2, 5, 14}) {
    const Drawn drawn{size, 0, 3, 2, 2 * size};
    const Graph graph = loaded(document_of(drawn));
    pulse::Options options;
    options.pulse = Dim(drawn.pulse);
    pulse::Report report;
    const auto pulsed = pulse::pulsify(graph, options, &report);
    ASSERT_TRUE(pulsed.ok()) << pulsed.error().to_string();
    const auto latency = audit::latency_of(&graph, *pulsed, report, options, 1e9);
    ASSERT_TRUE(latency.ok()) << latency.error().to_string();
    EXPECT_EQ(latency->outputs[0].stream.delay, 0);
    EXPECT_TRUE(latency->outputs[0].losing.empty());
    EXPECT_FALSE(latency->chunk);
  }
}

}  // namespace
}  // namespace rill::test
