// Random graphs in other types and forms: of f16, integers and quantized bytes, written and read
// back, on numbers of all magnitudes with NaN and infinity, and with ends that are announced late.
// A stream gives the bits of the whole run, or the graph is refused.
//
// RILL_PROPERTY_SEEDS=first:count selects other seeds. RILL_PROPERTY_VERBOSE prints the reasons of
// refusals.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "audit/drive.h"
#include "core/exec/feed.h"
#include "core/optim/optim.h"
#include "nnef_loader/load.h"
#include "ops/op_table.h"
#include "tests/property/generate.h"
#include "tests/property/seeds.h"
#include "tests/property/streaming.h"
#include "tests/property/typed.h"
#include "transforms/float_precision.h"

namespace rill::test {
namespace {

constexpr int64_t kFirstSeed = 1;
constexpr int64_t kSeeds = 300;

/// The changes to a graph, and the mode of its stream.
struct Variation {
  bool typed = false;      ///< a chain of integers, bytes and floats, not one of f32
  bool half = false;       ///< every f32 becomes f16
  bool read_back = false;  ///< the whole graph and the pulsed one are written and read back
  bool wild = false;       ///< inputs of all magnitudes, NaN and infinity
  bool pushed = false;     ///< frames are pushed, and the end is announced after them

  std::string text() const {
    return str_cat(typed ? "typed " : "", half ? "f16 " : "", read_back ? "read back " : "",
                   wild ? "wild " : "", pushed ? "pushed " : "");
  }
};

Variation variation_of(uint64_t seed) {
  Random random(seed * 31 + 5);
  Variation out;
  out.typed = random.chance(40);
  out.half = random.chance(35);
  out.read_back = random.chance(40);
  out.wild = random.chance(50);
  out.pushed = random.chance(50);
  return out;
}

/// Replace floats by numbers of every exponent, and some by NaN or infinity.
void make_wild(Tensor* tensor, Random* random) {
  if (!is_float(tensor->dtype())) return;
  const bool half = tensor->dtype() == DType::kF16;
  Tensor wide = Tensor::zeros(DType::kF64, tensor->shape()).value();
  const double from = half ? -24 : -149;
  const double to = half ? 16 : 128;
  // A stream of infinities alone would prove nothing.
  const int special = random->chance(30) ? 10 : 0;
  for (int64_t i = 0; i < wide.volume(); ++i) {
    double value = std::exp2(from + (to - from) * random->unit());
    if (random->chance(special)) value = random->chance(50) ? HUGE_VAL : std::nan("");
    wide.mutable_data<double>()[i] = random->chance(50) ? value : -value;
  }
  *tensor = rill::cast(wide, tensor->dtype(), tensor->view().q).value();
}

std::vector<Tensor> inputs_of(const Graph& graph, int64_t length, const Variation& variation) {
  std::vector<Tensor> out = noise_inputs(graph, length, static_cast<uint64_t>(length));
  Random random(static_cast<uint64_t>(length) + 17);
  for (Tensor& each : out) {
    if (variation.wild) make_wild(&each, &random);
  }
  return out;
}

Result<std::vector<Tensor>> pushed(StreamedRun* streamed, const std::vector<Tensor>& inputs) {
  Session& session = streamed->session();
  session.reset();
  RILL_ASSIGN(const std::unique_ptr<Feed> feed, Feed::make(&session, 0));
  audit::PushedStream stream(inputs, 7);
  stream.attach(&session, feed.get());
  while (stream.step()) {
  }
  RILL_TRY(stream.finish());
  return stream.outputs();
}

struct Outcome {
  std::string problem;   ///< empty if all is well
  std::string refusal;   ///< the reason why no pulse was legal
  int64_t compared = 0;  ///< lengths at which frames were compared
};

/// Compare the streams of one length.
void compare(const Graph& graph, StreamedRun* streamed, int64_t length, const Variation& variation,
             double tolerance, Outcome* out) {
  const std::vector<Tensor> inputs = inputs_of(graph, length, variation);
  auto whole = WholeRun::make(graph, length);
  if (!whole.ok() || !streamed->session().check_length(length).ok()) return;
  auto frames = variation.pushed ? pushed(streamed, inputs) : streamed->run(inputs, length);
  if (!frames.ok()) {
    out->problem = frames.error().to_string();
    return;
  }
  const std::vector<Tensor> expected = whole->run(inputs);
  ++out->compared;
  for (size_t i = 0; i < expected.size() && out->problem.empty(); ++i) {
    const std::string found = difference((*frames)[i], expected[i], tolerance);
    if (!found.empty()) out->problem = str_cat("output ", i, ": ", found);
  }
}

Result<Graph> written_and_read(const Graph& graph) {
  nnef::SaveOptions options;
  options.read_back = ops::op_table();
  RILL_ASSIGN(const Graph again, nnef::read_back(graph, options));
  return declutter(again);
}

struct Subject {
  std::string text;
  Result<Graph> graph;
  int64_t unit = 1;
  double tolerance = 0;
};

Subject subject_of(const Recipe& recipe, const Variation& variation) {
  if (variation.typed) {
    const TypedGraph typed = typed_graph(recipe.seed);
    return {str_cat(typed.text, typed.quant), load_typed(typed), 6, 0};
  }
  const Generated generated = generate(recipe);
  return {generated.text, load_text(generated.text), generated.pulse_unit, generated.tolerance};
}

Outcome check(const Recipe& recipe, const Variation& variation) {
  Outcome out;
  const Subject subject = subject_of(recipe, variation);
  Result<Graph> graph = subject.graph;
  if (graph.ok() && variation.half) {
    graph = transforms::with_float_type(*graph, DType::kF32, DType::kF16);
  }
  if (graph.ok() && variation.read_back) graph = written_and_read(*graph);
  if (!graph.ok()) {
    out.refusal = graph.error().to_string();
    return out;
  }
  // In a stream, attention sums in another order, which shows with numbers of all magnitudes.
  const bool attends = subject.tolerance > 0;
  Variation tamed = variation;
  tamed.wild &= !attends;
  const double tolerance = attends && variation.half ? 0.05 : subject.tolerance;
  Random random(recipe.seed * 1000 + 97);
  for (const int64_t pulse : {subject.unit, subject.unit * random.in(2, 9)}) {
    auto streamed = StreamedRun::make(*graph, pulse);
    if (!streamed.ok()) {
      out.refusal = streamed.error().to_string();
      if (streamed.error().code != Code::kPulse) out.problem = out.refusal;
      continue;
    }
    if (variation.read_back) {
      streamed = streamed->reloaded();
      if (!streamed.ok()) {
        out.problem = streamed.error().to_string();
        return out;
      }
    }
    for (const int64_t length : {int64_t{1}, pulse, 2 * pulse + 1, 3 * pulse,
                                 random.in(1, 4 * pulse + 30), random.in(1, 4 * pulse + 30)}) {
      if (is_too_short(*graph, length)) continue;
      compare(*graph, &*streamed, length, tamed, tolerance, &out);
      if (out.problem.empty()) continue;
      out.problem = str_cat("pulse ", pulse, ", length ", length, ": ", out.problem);
      return out;
    }
  }
  return out;
}

TEST(VariedGraph, StreamsTheBitsOfTheWholeRun) {
  const auto [first, count] = seeds_or(kFirstSeed, kSeeds);
  int64_t refused = 0;
  int64_t compared = 0;
  for (int64_t seed = first; seed < first + count; ++seed) {
    const auto number = static_cast<uint64_t>(seed);
    const Recipe drawn = seed % 3 == 0 ? short_recipe(number) : recipe(number);
    const Variation variation = variation_of(static_cast<uint64_t>(seed));
    const Outcome outcome = check(drawn, variation);
    compared += outcome.compared;
    if (outcome.compared == 0) ++refused;
    if (outcome.compared == 0 && std::getenv("RILL_PROPERTY_VERBOSE")) {
      std::printf("seed %ld, %s: %s\n", static_cast<long>(seed), variation.text().c_str(),
                  outcome.refusal.c_str());
    }
    if (outcome.problem.empty()) continue;
    const auto fails = [&](const Recipe& other) {
      return !check(other, variation).problem.empty();
    };
    const Recipe small = variation.typed ? drawn : shrunk(drawn, fails);
    ADD_FAILURE() << "seed " << seed << ", " << variation.text() << ": "
                  << check(small, variation).problem << "\n"
                  << subject_of(small, variation).text;
  }
  if (count >= 100) {
    // A larger share would mean that the generators draw graphs that cannot stream.
    EXPECT_LE(refused * 100, count * 10);
  }
  std::printf("%ld graphs, %ld without a comparison, %ld comparisons\n", static_cast<long>(count),
              static_cast<long>(refused), static_cast<long>(compared));
}

}  // namespace
}  // namespace rill::test
