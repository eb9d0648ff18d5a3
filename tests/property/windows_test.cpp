// Each step of a windowed model gives the frames of the whole model over that window alone. The
// graphs are random, or cannot stream otherwise. The expected values come from one whole run per
// window, on slices of the input with zeros before and after it.
//
// RILL_PROPERTY_SEEDS=first:count selects other seeds.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "audit/audit.h"
#include "audit/drive.h"
#include "audit/windows.h"
#include "core/optim/optim.h"
#include "core/tensor/frames.h"
#include "pulse/sliding.h"
#include "tests/property/generate.h"
#include "tests/property/seeds.h"
#include "tests/property/streaming.h"
#include "tests/property/typed.h"
#include "tests/property/wide.h"

namespace rill::test {
namespace {

using pulse::Window;

std::string text_of(const Window& window) {
  return str_cat(window.left, ",", window.step, ",", window.right);
}

/// A multiple of all small numbers, beyond the lengths at which expressions settle.
constexpr int64_t kFar = int64_t{720720} * 64;

int64_t length_at(const Dim& dim, int64_t symbol) { return dim.eval({{"S", symbol}}).value_or(0); }

int axis_of(const Fact& fact) {
  for (int axis = 0; axis < fact.rank(); ++axis) {
    if (fact.dim(axis).mentions("S")) return axis;
  }
  return -1;
}

/// Return frames [begin, begin + count) of a tensor, with zeros where it has none.
Tensor cut(const Tensor& from, int axis, int64_t begin, int64_t count) {
  std::vector<int64_t> shape(from.shape().begin(), from.shape().end());
  shape[static_cast<size_t>(axis)] = count;
  Tensor out = std::move(Tensor::zeros(from.dtype(), shape, from.qparams())).value();
  const Tensor zero = std::move(cast(Tensor::scalar(0.0F), from.dtype(), from.qparams())).value();
  View zeros = out.view();
  zeros.stride.fill(0);
  zeros.data = zero.view().data;
  copy_view(zeros, out.view());
  for (int64_t i = 0; i < count; ++i) {
    if (begin + i < 0 || begin + i >= from.extent(axis)) continue;
    copy_view(frames_of(from.view(), axis, begin + i, 1), frames_of(out.view(), axis, i, 1));
  }
  return out;
}

/// Return the expected outputs of a stream of windows, from whole runs.
Result<std::vector<Tensor>> expected(const Graph& graph, const Window& window,
                                     const std::vector<Tensor>& inputs, int64_t length) {
  RILL_ASSIGN(WholeRun whole, WholeRun::make(graph, window.frames()));
  std::vector<Tensor> out(graph.outputs.size());
  int64_t steps = (length + window.step - 1) / window.step;
  for (const OutletId output : graph.outputs) {
    const int axis = axis_of(graph.fact(output));
    if (axis < 0) continue;
    const Dim& dim = graph.fact(output).dim(axis);
    const int64_t base = length_at(dim, kFar);
    const int64_t last = length_at(dim, length) + length_at(dim, kFar + window.right) - base;
    steps = std::max(steps, last / (length_at(dim, kFar + window.step) - base) + 1);
  }
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<Tensor> slices;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Fact& fact = graph.fact(graph.inputs[i]);
      const int axis = axis_of(fact);
      if (axis < 0) {
        slices.push_back(inputs[i]);
        continue;
      }
      const int64_t each = length_at(fact.dim(axis), 1);
      slices.push_back(cut(inputs[i], axis, ((step + 1) * window.step - window.frames()) * each,
                           window.frames() * each));
    }
    const std::vector<Tensor> values = whole.run(slices);
    for (size_t i = 0; i < values.size(); ++i) {
      const Fact& fact = graph.fact(graph.outputs[i]);
      const int axis = axis_of(fact);
      std::vector<int64_t> shape(values[i].shape().begin(), values[i].shape().end());
      if (axis < 0) {
        // One row per window.
        const int64_t rows = (length + window.step - 1) / window.step;
        shape.insert(shape.begin(), rows);
        if (step == 0) {
          out[i] = std::move(Tensor::zeros(values[i].dtype(), shape, values[i].qparams())).value();
        }
        if (step >= rows) continue;
        const auto bytes = static_cast<size_t>(values[i].volume() * dtype_size(values[i].dtype()));
        std::memcpy(out[i].view().as<std::byte>() + static_cast<size_t>(step) * bytes,
                    values[i].view().data, bytes);
        continue;
      }
      const Dim& dim = fact.dim(axis);
      const int64_t base = length_at(dim, kFar);
      const int64_t first = length_at(dim, kFar + window.left) - base;
      const int64_t count = length_at(dim, kFar + window.step) - base;
      const int64_t delay = length_at(dim, kFar + window.right) - base;
      shape[static_cast<size_t>(axis)] = std::max<int64_t>(0, length_at(dim, length));
      if (step == 0) {
        out[i] = std::move(Tensor::zeros(values[i].dtype(), shape, values[i].qparams())).value();
      }
      for (int64_t k = 0; k < count; ++k) {
        const int64_t to = step * count - delay + k;
        if (to < 0 || to >= out[i].extent(axis)) continue;
        copy_view(frames_of(values[i].view(), axis, first + k, 1),
                  frames_of(out[i].view(), axis, to, 1));
      }
    }
  }
  return out;
}

/// Return whether the graph is defined at a length.
bool is_defined(const Graph& graph, int64_t length) {
  return std::all_of(graph.outputs.begin(), graph.outputs.end(), [&](OutletId output) {
    const Fact& fact = graph.fact(output);
    const int axis = axis_of(fact);
    return axis < 0 || fact.dim(axis).eval({{"S", length}}).has_value();
  });
}

struct Slid {
  Graph graph;
  std::unique_ptr<Session> session;
};

Result<Slid> slid(const Graph& graph, const Window& window) {
  Slid out;
  RILL_ASSIGN(const Graph made, pulse::slide(graph, "S", window));
  RILL_ASSIGN(out.graph, declutter(made));
  RILL_ASSIGN(const std::shared_ptr<const Plan> plan, prepare(out.graph));
  RILL_ASSIGN(out.session, Session::make(plan));
  return out;
}

/// Return the fault of a stream of one length; empty if there is none.
std::string problem(const Graph& graph, const Window& window, Slid* slid, int64_t length) {
  const std::vector<Tensor> inputs = noise_inputs(graph, length, static_cast<uint64_t>(length));
  const auto want = expected(graph, window, inputs, length);
  if (!want.ok()) return want.error().to_string();
  audit::StreamOptions options;
  options.nan_filler = true;
  options.ask_session = true;
  const auto got = audit::run_stream(slid->session.get(), inputs, length, options);
  if (!got.ok()) return got.error().to_string();
  for (size_t i = 0; i < want->size(); ++i) {
    const std::string found = difference(got->outputs[i], (*want)[i], 0);
    if (!found.empty()) return str_cat("length ", length, ", output ", i, ": ", found);
  }
  return {};
}

/// Return the fault of the other modes: pushed, restarted, saved, cloned, stepped together.
std::string audited(const Graph& graph, const Slid& slid, uint64_t seed) {
  audit::Options options;
  options.seconds = 20;
  options.lengths = 5;
  options.longest = options.longest_crossing = 200;
  options.seed = seed;
  options.windows = audit::run_windows;
  const auto report = audit::audit(graph, slid.graph, options);
  // Outputs that end long before their inputs have no frame in short streams.
  if (!report.ok() && report.error().message.starts_with("the audit compared no output")) return {};
  if (!report.ok()) return report.error().to_string();
  if (report->finding) return report->finding->to_string();
  if (report->lengths.empty()) return "no length was compared";
  return {};
}

struct Tally {
  int64_t graphs = 0;
  int64_t refused = 0;
  int64_t compared = 0;

  void print() const {
    std::printf("%ld graphs, %ld refused, %ld streams\n", static_cast<long>(graphs),
                static_cast<long>(refused), static_cast<long>(compared));
  }
};

/// Return the number after `start`; 0 if the text does not contain `start`.
int64_t number_after(const std::string& text, const std::string& start) {
  const size_t at = text.find(start);
  return at == std::string::npos ? 0 : std::atoll(text.c_str() + at + start.size());
}

/// Apply the window that a refusal asks for. Return false if it is too long to try.
bool take_remedy(const std::string& hint, Window* window) {
  const int64_t unit = number_after(hint, "Use multiples of ");
  const int64_t right = number_after(hint, "Use a RIGHT of ");
  if (unit > 120 || right > 400 || unit + right == 0) return false;
  if (right > 0) window->right = right;
  const int64_t step = std::max<int64_t>(unit, 1);
  for (int64_t* each : {&window->left, &window->step, &window->right}) {
    *each = (*each + step - 1) / step * step;
  }
  return true;
}

/// Compare the streams of several lengths through one window.
void compare(const Graph& graph, Window window, uint64_t seed, const std::string& text,
             Tally* tally) {
  auto made = slid(graph, window);
  for (int i = 0; i < 4 && !made.ok(); ++i) {
    if (!take_remedy(made.error().hint, &window)) break;
    made = slid(graph, window);
  }
  if (!made.ok()) {
    ++tally->refused;
    EXPECT_FALSE(made.error().hint.empty()) << made.error().to_string() << "\n" << text;
    if (std::getenv("RILL_PROPERTY_VERBOSE")) {
      std::printf("seed %ld: %s\n", static_cast<long>(seed), made.error().to_string().c_str());
    }
    return;
  }
  Random random(seed * 31 + 7);
  std::set<int64_t> lengths = {1, window.step, window.step + 1, 2 * window.frames() + 1};
  for (int i = 0; i < 2; ++i) lengths.insert(random.in(1, 3 * window.frames()));
  for (const int64_t length : lengths) {
    // Branches differ in length, as in a U-Net at odd lengths.
    if (!is_defined(graph, length)) continue;
    ++tally->compared;
    const std::string found = problem(graph, window, &*made, length);
    ASSERT_EQ(found, "") << "seed " << seed << ", window " << text_of(window) << "\n" << text;
  }
  EXPECT_EQ(audited(graph, *made, seed), "")
      << "seed " << seed << ", window " << text_of(window) << "\n"
      << text;
}

Window drawn_window(uint64_t seed, int64_t unit) {
  Random random(seed * 1000 + 17);
  return {unit * random.in(0, 9), unit * random.in(1, 5), unit * random.in(0, 9)};
}

TEST(Windows, OfRandomGraphsAreWholeRuns) {
  const auto [first, count] = seeds_or(1, 40);
  Tally tally;
  for (int64_t at = first; at < first + count; ++at) {
    const auto seed = static_cast<uint64_t>(at);
    const Generated generated = generate(recipe(seed));
    auto graph = load_text(generated.text);
    if (!graph.ok()) continue;
    ++tally.graphs;
    compare(*graph, drawn_window(seed, generated.pulse_unit), seed, generated.text, &tally);
  }
  tally.print();
  EXPECT_LE(tally.refused * 2, tally.graphs);
}

TEST(Windows, OfOtherTypesAreWholeRuns) {
  const auto [first, count] = seeds_or(1, 20);
  Tally tally;
  for (int64_t at = first; at < first + count; ++at) {
    const auto seed = static_cast<uint64_t>(at);
    const TypedGraph generated = typed_graph(seed);
    auto graph = load_typed(generated);
    if (!graph.ok()) continue;
    ++tally.graphs;
    compare(*graph, drawn_window(seed, 12), seed, generated.text, &tally);
  }
  tally.print();
  EXPECT_LE(tally.refused * 2, tally.graphs);
}

TEST(Windows, OfSeveralInputsAndOutputsAreWholeRuns) {
  const auto [first, count] = seeds_or(1, 40);
  Tally tally;
  for (int64_t at = first; at < first + count; ++at) {
    const auto seed = static_cast<uint64_t>(at);
    const std::string text = wide_graph(wide_recipe(seed));
    auto graph = load_text(text);
    if (!graph.ok()) continue;
    ++tally.graphs;
    compare(*graph, drawn_window(seed, 1), seed, text, &tally);
  }
  tally.print();
}

// A window of 24 frames contains none of these frames. An empty stream would be wrong for longer
// ones.
TEST(Windows, OfFramesFarIntoAStreamAreRefused) {
  for (const int64_t begin : {int64_t{100}, int64_t{1} << 25, int64_t{1} << 40}) {
    const auto graph = load_text(
        str_cat("version 1.0;\nextension tract_registry tract_core;\nextension tract_symbol S;\n"
                "graph network(x) -> (y)\n{\n"
                "  x = tract_core_external(shape = [1, 1, S], datum_type = 'f32');\n"
                "  y = slice(x, axes = [2], begin = [",
                begin, "], end = [0]) * 2.0;\n}\n"));
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    EXPECT_FALSE(pulse::slide(*graph, "S", {8, 8, 8}).ok()) << begin;
  }
}

/// Layers that need the whole stream, each on x of [1, 3, S].
const char* const kWhole[] = {
    "  m = mean_reduce(x, axes = [2]);\n  y = sub(x, m);\n",
    "  y = softmax(x, axes = [2]);\n",
    "  m = mean_reduce(x, axes = [0, 1, 2]);\n  c = sub(x, m);\n  q = mul(c, c);\n"
    "  v = mean_reduce(q, axes = [0, 1, 2]);\n  e = add(v, 0.001);\n  r = rsqrt(e);\n"
    "  y = mul(c, r);\n",
    "  s = matmul(x, x, transposeA = true, transposeB = false);\n  w = softmax(s, axes = [2]);\n"
    "  y = matmul(x, w, transposeA = false, transposeB = true);\n",
    "  p = avg_pool(x, size = [1, 1, 2], stride = [1, 1, 2], padding = [(0,0), (0,0), (0,0)], "
    "border = 'ignore');\n  m = max_reduce(p, axes = [2]);\n  y = sub(p, m);\n",
};

TEST(Windows, OfLayersThatReadTheWholeStreamAreWholeRuns) {
  Tally tally;
  uint64_t seed = 1;
  for (const char* const layers : kWhole) {
    const std::string text = document("1, 3, S", layers);
    const auto graph = load_text(text);
    ASSERT_TRUE(graph.ok()) << graph.error().to_string();
    for (int i = 0; i < 6; ++i) {
      ++seed;
      compare(*graph, drawn_window(seed, 2), seed, text, &tally);
    }
  }
  EXPECT_EQ(tally.refused, 0);
}

TEST(Windows, OutputsWithoutFramesHaveOneRowForEachWindow) {
  Tally tally;
  const std::string text =
      document("1, 3, S", "  y = mean_reduce(x, axes = [2]);\n  z = mul(x, 2.0);\n", "y, z");
  const auto graph = load_text(text);
  ASSERT_TRUE(graph.ok()) << graph.error().to_string();
  for (uint64_t seed = 1; seed < 9; ++seed) {
    compare(*graph, drawn_window(seed, 1), seed, text, &tally);
  }
  EXPECT_EQ(tally.refused, 0);
  const auto made = slid(*graph, {4, 3, 2});
  ASSERT_TRUE(made.ok()) << made.error().to_string();
  EXPECT_EQ(made->graph.streaming->output(0).length->to_string(),
            ceil_div(Dim::symbol("S"), 3).to_string());
  EXPECT_EQ(made->graph.streaming->output(0).delay, 0);
  EXPECT_EQ(made->graph.streaming->output(1).delay, 2);
}

TEST(Windows, RefusalsNameTheRemedy) {
  const auto refusal = [](const std::string& shape, const std::string& layers,
                          const Window& window) {
    const auto graph = load_text(document(shape, layers));
    EXPECT_TRUE(graph.ok()) << graph.error().to_string();
    const auto made = pulse::slide(*graph, "S", window);
    EXPECT_FALSE(made.ok());
    return made.ok() ? std::string() : made.error().to_string();
  };
  const auto names = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const std::string halves =
      "  y = avg_pool(x, size = [1, 1, 2], stride = [1, 1, 2], "
      "padding = [(0,0), (0,0), (0,0)], border = 'ignore');\n";
  names(refusal("1, 3, S", halves, {3, 2, 2}), "Use multiples of 2 as LEFT, STEP and RIGHT");
  names(refusal("1, 3, S", "  y = slice(x, axes = [2], begin = [3], end = [0]);\n", {4, 2, 1}),
        "Use a RIGHT of 3 or more");
  names(refusal("1, 3, S", "  y = mul(x, 2.0);\n", {4, 0, 1}), "--window S=40,8,16");
  names(refusal("1, 3, 5", "  y = mul(x, 2.0);\n", {4, 1, 1}), "dynamic axis");
  names(refusal("1, S, S", "  y = mul(x, 2.0);\n", {4, 1, 1}), "fixed extent");
  names(refusal("1, 3, S + 2", "  y = mul(x, 2.0);\n", {4, 1, 1}), "a multiple");
  names(refusal("1, 3, S", "  y = slice(x, axes = [2], begin = [0], end = [5]);\n  z = y;\n",
                {0, 2, 0}),
        "Give the window other frames");
}

}  // namespace
}  // namespace rill::test
