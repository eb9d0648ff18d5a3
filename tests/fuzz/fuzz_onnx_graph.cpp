// The input is an ONNX model, usually well formed. A model that loads gives the same bits after a
// round trip through NNEF, and one that streams gives the frames of the whole run.

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "audit/values.h"
#include "core/dim/dim.h"
#include "kernels/cpu.h"
#include "nnef_loader/load.h"
#include "onnx_loader/load.h"
#include "ops/onnx_table.h"
#include "ops/op_table.h"
#include "tests/fuzz/mutate_onnx.h"
#include "tests/fuzz/target.h"
#include "tests/property/generate.h"
#include "tests/property/streaming.h"

using namespace rill;

namespace {

/// The largest number of elements of a wire, so that a run stays short.
constexpr int64_t kMaxVolume = 4096;
constexpr int64_t kMaxElementsOfAll = int64_t{1} << 18;
/// Attention and softmax may differ in their last bits, which later layers amplify.
constexpr double kToleranceOfAttention = 1e-3;

bool is_small(const Graph& graph, int64_t length) {
  int64_t all = 0;
  for (const Node& node : graph.nodes) {
    for (const Fact& fact : node.outputs) {
      const auto count = volume(fact.shape).eval({{"S", length}});
      if (!count || *count > kMaxVolume || *count < 0) return false;
      all += *count;
    }
  }
  return all <= kMaxElementsOfAll;
}

/// Return whether a graph draws random numbers, which differ between loads if it has no seed.
bool draws_numbers(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    const Graph* const nested = node.op->nested();
    return node.op->name() == "Random" || node.op->name() == "Multinomial" ||
           (nested && draws_numbers(*nested));
  });
}

Result<Graph> load(const uint8_t* data, size_t size) {
  onnx::LoadOptions options;
  options.limits.max_folded_bytes = int64_t{1} << 24;
  options.limits.max_nodes = 512;
  auto graph =
      onnx::load_memory(test::bytes_of(data, size), {ops::op_table(), ops::onnx_table()}, options);
  if (!graph.ok()) return graph;
  // Stream along one symbol, S if present, and bind the others.
  std::vector<std::string> symbols = symbols_of(*graph);
  if (symbols.empty()) return graph;
  if (std::erase(symbols, "S") == 0) {
    graph = graph->with_symbol(symbols.back(), Dim::symbol("S"));
    symbols.pop_back();
  }
  for (const std::string& symbol : symbols) {
    if (graph.ok()) graph = graph->with_symbol(symbol, Dim(3));
  }
  return graph;
}

std::filesystem::path temporary(std::string_view stem, std::string_view suffix) {
  return std::filesystem::temp_directory_path() /
         str_cat(stem, static_cast<int64_t>(getpid()), suffix);
}

Result<Graph> through_nnef(const Graph& graph) {
  const auto path = temporary("rill_written_", ".nnef.tar");
  RILL_TRY(nnef::save(graph, path.string(), nnef::Container::kTar));
  auto loaded = nnef::load(path.string(), ops::op_table());
  std::filesystem::remove(path);
  if (!loaded.ok()) test::finding("written, and not read: " + loaded.error().to_string());
  return loaded;
}

/// A step flushes denormal inputs and outputs to zero, but a denormal constant that is only copied
/// may keep its value. So compare without denormals.
Tensor without_denormals(Tensor tensor) {
  const auto flush = [&](auto zero) {
    using T = decltype(zero);
    T* values = tensor.mutable_data<T>();
    for (int64_t i = 0; i < tensor.volume(); ++i) {
      if (std::fpclassify(values[i]) == FP_SUBNORMAL) values[i] = zero;
    }
  };
  if (tensor.dtype() == DType::kF32) flush(0.0F);
  if (tensor.dtype() == DType::kF64) flush(0.0);
  return tensor;
}

void expect_same_written(const Graph& graph, int64_t length) {
  const auto read = through_nnef(graph);
  test::expect_explained(read);
  if (!read.ok()) return;
  auto whole = test::WholeRun::make(graph, length);
  test::expect_explained(whole);
  if (!whole.ok()) return;
  auto again = test::WholeRun::make(*read, length);
  if (!again.ok()) test::finding("read back, and refused: " + again.error().to_string());
  const auto inputs = test::noise_inputs(graph, length, 1);
  const auto expected = whole->run(inputs);
  const auto found = again->run(inputs);
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string problem =
        test::difference(without_denormals(found[i]), without_denormals(expected[i]));
    if (!problem.empty()) test::finding(str_cat("read back, output ", i, ": ", problem));
  }
}

void expect_streams(const Graph& graph, int64_t pulse, std::span<const int64_t> lengths) {
  auto streamed = test::StreamedRun::make(graph, pulse);
  test::expect_explained(streamed);
  if (!streamed.ok() || !is_small(streamed->graph(), 1)) return;
  double tolerance = 0;
  for (const OutletId output : graph.outputs) {
    if (audit::attends(graph, output, "S")) tolerance = kToleranceOfAttention;
  }
  for (const int64_t length : lengths) {
    if (!is_small(graph, length) || test::is_too_short(graph, length)) continue;
    const std::string problem = test::stream_problem(graph, &*streamed, length, tolerance);
    if (problem.empty()) continue;
    test::finding(str_cat("pulse ", pulse, ", length ", length, ": ", problem));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kernels::set_tier_limit(kernels::Tier::kScalar);
  const auto graph = load(data, size);
  test::expect_explained(graph);
  if (!graph.ok() || draws_numbers(*graph)) return 0;
  uint64_t seed = size;
  for (size_t i = 0; i < size; ++i) seed = seed * 31 + data[i];
  test::Random random(seed);
  const int64_t length = random.log_in(1, 200);
  if (!is_small(*graph, length)) return 0;
  expect_same_written(*graph, length);
  const int64_t lengths[] = {length, random.log_in(1, 20), random.log_in(1, 200)};
  expect_streams(*graph, random.log_in(1, 9), lengths);
  return 0;
}

namespace {

/// Load a model from a temporary file, which remains if the loader crashes.
bool loads(const std::string& model) {
  const auto path = temporary("rill_fuzzed_", ".onnx");
  std::ofstream(path, std::ios::binary) << model;
  const bool loaded = load(reinterpret_cast<const uint8_t*>(model.data()), model.size()).ok();
  std::filesystem::remove(path);
  return loaded;
}

/// The largest size of a joined graph. Larger ones are usually refused for one of their parts.
constexpr size_t kMostJoined = 8192;

}  // namespace

/// Most changes are refused. If the original model loads, try several until one loads.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  const std::string model(test::text_of(data, size));
  test::Random random(seed);
  std::string changed = test::mutated_model(model, random.next());
  for (int i = 0; i < 5 && random.chance(90) && loads(model) && !loads(changed); ++i) {
    changed = test::mutated_model(model, random.next());
  }
  if (changed.size() > max_size) return size;
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data, size_t size, const uint8_t* other,
                                            size_t other_size, uint8_t* out, size_t max_size,
                                            unsigned int seed) {
  const std::string joined =
      test::joined_models(test::text_of(data, size), test::text_of(other, other_size), seed);
  if (joined.size() > std::min(max_size, kMostJoined)) return 0;
  std::memcpy(out, joined.data(), joined.size());
  return joined.size();
}
