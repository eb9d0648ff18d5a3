#include "tests/operators/side_by_side.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "core/exec/session.h"
#include "core/optim/optim.h"
#include "nnef_loader/load.h"
#include "ops/op_table.h"
#include "pulse/pulse.h"
#include "tests/property/streaming.h"

namespace rill::test {

const std::vector<const char*> kKeptOfStreams = {
    "  y = mean_reduce(x, axes = [1]);\n", "  y = argmax_reduce(x, axes = [1]);\n",
    "  y = slice(x, axes = [1], begin = [-3], end = [0]);\n",
    "  n = tract_core_range(0, S, 1);\n  y = x + tract_core_cast(unsqueeze(n, axes = [0, 2]), to = "
    "'f32');\n",
    "  n = tract_core_range(0, S, 1);\n"
    "  row = unsqueeze(n, axes = [0, 2]);\n  column = unsqueeze(n, axes = [0, 1]);\n"
    "  s = matmul(x, x, transposeB = true);\n"
    "  m = select((row >= column) && (row - column <= 5), s, -1000000.0);\n"
    "  y = matmul(softmax(m, axes = [2]), x);\n"};

void fill_alike(const View& first, const View& second, size_t input, int step) {
  const int64_t count = first.volume();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t number = (i * 7 + step * 3 + static_cast<int64_t>(input)) % 5;
    if (first.dtype == DType::kF32) {
      first.as<float>()[i] = static_cast<float>(number) * 0.375F - 0.5F;
    } else if (first.dtype == DType::kI64) {
      first.as<int64_t>()[i] = number % 2;
    } else if (dtype_size(first.dtype) == 1) {
      first.as<uint8_t>()[i] = static_cast<uint8_t>(number % 2);
    }
  }
  std::memcpy(second.data, first.data, static_cast<size_t>(count * dtype_size(first.dtype)));
}

void expect_same_runs(const Plan& plan, const std::shared_ptr<const Plan>& other, int steps) {
  auto first = Session::make({std::shared_ptr<void>(), &plan});
  auto second = Session::make(other);
  ASSERT_TRUE(first.ok() && second.ok());
  for (int step = 0; step < steps; ++step) {
    if (step + 1 == steps && plan.stream_pulse > 0) {
      const int64_t end = plan.stream_pulse * step + 1;
      (*first)->announce_end(end);
      (*second)->announce_end(end);
    }
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      fill_alike((*first)->input(i), (*second)->input(i), i, step);
    }
    (*first)->step();
    (*second)->step();
    for (size_t i = 0; i < plan.outputs.size(); ++i) {
      EXPECT_EQ(std::memcmp((*first)->output(i).data, (*second)->output(i).data,
                            static_cast<size_t>(plan.outputs[i].bytes)),
                0)
          << "step " << step << ", output " << i;
    }
  }
}

namespace {

/// Return the graph that a whole run of `length` frames prepares.
Result<Graph> bound(const Graph& graph, int64_t length) {
  RILL_ASSIGN(const Graph loaded, declutter(graph));
  RILL_ASSIGN(const Graph with_length, loaded.with_symbol("S", Dim(length)));
  return declutter(with_length);
}

/// Visit the plan with weights in a format, if it has any.
void show_few_bits(const Graph& graph, WeightFormat format, int steps, const SeePlan& see) {
  SCOPED_TRACE(format == WeightFormat::kQ8 ? "weights of 8 bits" : "products of 8 bits");
  WeightChoice choice;
  choice.format = format;
  PrepareOptions options;
  options.weights = &choice;
  const auto plan = prepare(graph, options);
  ASSERT_TRUE(plan.ok()) << plan.error().to_string();
  const auto few = [](const WeightLayer& layer) { return layer.kept.empty(); };
  if (!std::any_of(choice.layers.begin(), choice.layers.end(), few)) return;
  see({graph, options}, **plan, steps);
}

void show_few_bits(const Graph& graph, int steps, const SeePlan& see) {
  show_few_bits(graph, WeightFormat::kQ8, steps, see);
  show_few_bits(graph, WeightFormat::kInt8, steps, see);
}

void for_each_plan(const Graph& graph, const std::vector<int64_t>& pulses,
                   const std::vector<int64_t>& lengths, const SeePlan& see) {
  for (const int64_t pulse : pulses) {
    SCOPED_TRACE(str_cat("pulse ", pulse));
    auto streamed = StreamedRun::make(graph, pulse);
    ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
    see({streamed->graph(), {}}, streamed->session().plan(), 5);
    show_few_bits(streamed->graph(), 5, see);
  }
  for (const int64_t length : lengths) {
    SCOPED_TRACE(str_cat("S = ", length));
    auto whole = WholeRun::make(graph, length);
    ASSERT_TRUE(whole.ok()) << whole.error().to_string();
    const auto same = bound(graph, length);
    ASSERT_TRUE(same.ok()) << same.error().to_string();
    see({*same, {}}, whole->plan(), 2);
    show_few_bits(*same, 2, see);
  }
}

}  // namespace

void for_each_plan(const Case& a_case, const SeePlan& see) {
  auto graph = load_case(a_case);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  if (a_case.pulsed) {
    const auto plan = prepare(*graph);
    ASSERT_TRUE(plan.ok()) << plan.error().to_string();
    return see({*graph, {}}, **plan, 5);
  }
  std::vector<int64_t> lengths = a_case.lengths;
  if (lengths.empty()) lengths = {1};
  for_each_plan(*graph, a_case.pulses, lengths, see);
}

void for_each_plan_of_text(const char* statements, const SeePlan& see) {
  SCOPED_TRACE(statements);
  const auto graph = load_text(document("1, S, 4", statements));
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  for_each_plan(*graph, {4}, {}, see);
}

int64_t for_each_plan_of_models(const SeePlan& see) {
  int64_t shown = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(RILL_SOURCE_DIR) / "tests" / "models")) {
    const std::filesystem::path archive = entry.path() / "model.nnef.tgz";
    if (!std::filesystem::exists(archive)) continue;
    SCOPED_TRACE(archive.string());
    auto loaded = nnef::load(archive.string(), ops::op_table());
    if (!loaded.ok()) {
      ADD_FAILURE() << loaded.error().to_string();
      continue;
    }
    Graph graph = *std::move(loaded);
    const std::vector<std::string> symbols = graph.scope.symbols();
    for (const std::string& symbol : symbols) {
      if (symbol != "S") graph = graph.with_symbol(symbol, Dim(1)).value();
    }
    pulse::Options options;
    options.symbol = "S";
    const auto pulse = pulse::least_pulse(graph, options);
    if (pulse.ok()) {
      for_each_plan(graph, {*pulse, 3 * *pulse}, {}, see);
      ++shown;
    } else if (WholeRun::make(graph, 48).ok()) {
      for_each_plan(graph, {}, {48}, see);
      ++shown;
    }
  }
  return shown;
}

}  // namespace rill::test
