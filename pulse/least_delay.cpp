#include "pulse/least_delay.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <map>
#include <set>

#include "core/base/progress.h"
#include "core/base/search.h"
#include "core/base/splitmix.h"
#include "core/exec/plan.h"
#include "core/exec/session.h"
#include "core/exec/shared_weights.h"
#include "core/optim/optim.h"
#include "core/tensor/frames.h"
#include "core/tensor/visit_number.h"
#include "pulse/ready.h"

namespace rill::pulse {
namespace {

constexpr int64_t kTries = 6;  ///< pulses tried at the start of a stream, and at its end
/// The bounds of random floats.
struct Bounds {
  double low = -1;
  double high = 1;
};
/// The bounds of changed noise. Small numbers stay where functions are not flat; maxima and minima
/// need larger numbers of one sign.
constexpr Bounds kOthers[] = {{-1, 1}, {1, 32}, {-32, -1}};

/// Write noise into every element: floats within bounds, small indices that most tables have, and
/// any bytes of quantised types. Strings and other objects stay unchanged.
void draw_noise(Tensor* noise, Bounds bounds, uint64_t seed) {
  Splitmix64 random(seed);
  const DType dtype = noise->dtype();
  const bool bytes = dtype == DType::kQU8 || dtype == DType::kQI8;
  for (int64_t i = 0; i < noise->volume(); ++i) {
    const uint64_t bits = random.next();
    if (dtype == DType::kBool) noise->mutable_data<uint8_t>()[i] = static_cast<uint8_t>(bits % 2);
    if (bytes) noise->mutable_data<uint8_t>()[i] = static_cast<uint8_t>(bits);
    visit_number(dtype, [&](auto tag) {
      using T = decltype(tag);
      const double unit = static_cast<double>(bits >> 11U) * 0x1p-53;
      const double number = bounds.low + (bounds.high - bounds.low) * unit;
      noise->mutable_data<T>()[i] = std::is_integral_v<T>
                                        ? static_cast<T>(bits % 4)
                                        : static_cast<T>(static_cast<Computed<T>>(number));
    });
  }
}

/// Fill an input with noise, from frame `first` on; all of it if it has no streaming axis.
Status fill_with_noise(const View& input, int axis, int64_t first, Bounds bounds, uint64_t seed) {
  const View part = axis < 0 ? input : frames_of(input, axis, first, input.extent(axis) - first);
  RILL_ASSIGN(Tensor noise,
              Tensor::zeros(part.dtype, {part.shape.begin(), part.shape.begin() + part.rank}));
  draw_noise(&noise, bounds, seed);
  copy_view(noise.view(), part);
  return {};
}

/// Return the first frame that both values have and in which they differ; nothing if none does.
std::optional<int64_t> first_difference(const View& a, const View& b, int axis) {
  int64_t outer = 1;
  int64_t inner = dtype_size(a.dtype);
  for (int i = 0; i < axis; ++i) outer *= a.extent(i);
  for (int i = axis + 1; i < a.rank; ++i) inner *= a.extent(i);
  if (inner == 0) return std::nullopt;  // frames without elements are equal
  const auto bytes = [&](const View& view, int64_t o, int64_t frame) {
    return view.as<const std::byte>() + (o * view.extent(axis) + frame) * inner;
  };
  for (int64_t frame = 0; frame < std::min(a.extent(axis), b.extent(axis)); ++frame) {
    for (int64_t o = 0; o < outer; ++o) {
      const bool same =
          std::memcmp(bytes(a, o, frame), bytes(b, o, frame), static_cast<size_t>(inner)) == 0;
      if (!same) return frame;
    }
  }
  return std::nullopt;
}

Result<Tensor> copy_of(const View& view) {
  RILL_ASSIGN(Tensor out,
              Tensor::zeros(view.dtype, {view.shape.begin(), view.shape.begin() + view.rank}));
  copy_view(view, out.view());
  return out;
}

/// An observed wire: output number `output` of the graph that runs.
struct Seen {
  const Wire* wire;
  size_t output;
};

/// Return the whole graph, with every wire that streams as an output.
Graph with_wires(const Graph& whole, const Report& report, std::vector<Seen>* seen) {
  std::map<std::pair<std::string, int>, OutletId> known;
  for (size_t id = 0; id < whole.nodes.size(); ++id) {
    const Node& node = whole.nodes[id];
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      known[{node.name, static_cast<int>(slot)}] = {static_cast<int>(id), static_cast<int>(slot)};
    }
  }
  Graph out = whole;
  out.outputs.clear();
  out.output_names.clear();
  for (const Wire& wire : report.wires) {
    const auto found = known.find({wire.name, wire.slot});
    if (found == known.end()) continue;
    seen->push_back({&wire, out.outputs.size()});
    out.add_output(str_cat("wire", out.outputs.size()), found->second);
  }
  return out;
}

bool is_small(const Graph& graph, int64_t most_elements) {
  return all_of(graph.nodes, [&](const Node& node) {
    return all_of(node.outputs, [&](const Fact& fact) {
      const auto elements = volume(fact.shape).to_int();
      return elements && *elements <= most_elements;
    });
  });
}

Result<std::unique_ptr<Session>> session_for(const Graph& graph, const std::string& symbol,
                                             int64_t length, int64_t most_elements,
                                             SharedWeights* weights) {
  RILL_ASSIGN(const Graph bound, graph.with_symbol(symbol, Dim(length)));
  if (!is_small(bound, most_elements)) {
    return fail(Code::kNoMem, "a run of ", length, " frames is too large");
  }
  RILL_ASSIGN(const Graph simple, declutter(bound));
  RILL_ASSIGN(const std::shared_ptr<const Plan> plan, prepare_sharing(weights, simple));
  return Session::make(plan);
}

/// Return the pulses in which the first frames of outputs arrive, and those of the wires with the
/// least delays. Only such a frame may have to wait, or only its pulse may have the last frame of a
/// chunk.
std::set<int64_t> first_frames(const Report& report) {
  std::set<int64_t> out;
  for (const Wire& wire : report.wires) {
    if (wire.pulse > 0) out.insert(wire.delay / wire.pulse);
  }
  while (out.size() > kTries) out.erase(std::prev(out.end()));
  for (const Stream& output : report.outputs) {
    if (output.pulse > 0) out.insert(output.delay / output.pulse);
  }
  return out;
}

/// A reference run of the whole graph, and runs whose inputs differ from a certain pulse on.
class Runs {
 public:
  Runs(Session* session, const Report& report) : session_(*session), report_(report) {}

  /// Run the whole graph as the reference.
  Status begin() {
    RILL_TRY(fill(0, {}, 1));
    for (size_t i = 0; i < report_.inputs.size(); ++i) {
      RILL_ASSIGN(inputs_.emplace_back(), copy_of(session_.input(i)));
    }
    session_.step();
    for (size_t i = 0; i < session_.plan().outputs.size(); ++i) {
      RILL_ASSIGN(outputs_.emplace_back(), copy_of(session_.output(i)));
    }
    return {};
  }

  /// Change the input of a pulse and of all later ones, and record which outputs differ.
  Status change(int64_t pulse, const std::vector<Seen>& seen) {
    uint64_t seed = static_cast<uint64_t>(pulse) << 32U;
    for (const Bounds& bounds : kOthers) {
      session_.reset();
      for (size_t i = 0; i < inputs_.size(); ++i) copy_view(inputs_[i].view(), session_.input(i));
      RILL_TRY(fill(pulse, bounds, seed += inputs_.size()));
      session_.step();
      learn(session_, pulse, seen);
    }
    return {};
  }

  /// Run a stream that ends in a pulse, and record which outputs differ before that end.
  void end(Session* shorter, int64_t pulse, const std::vector<Seen>& seen) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const View to = shorter->input(i);
      View from = inputs_[i].view();
      from.shape = to.shape;
      copy_view(from, to);
    }
    shorter->step();
    learn(*shorter, pulse, seen);
  }

  std::map<const Wire*, int64_t> least;

 private:
  void learn(const Session& session, int64_t pulse, const std::vector<Seen>& seen) {
    for (const auto& [wire, output] : seen) {
      const auto frame =
          first_difference(session.output(output), outputs_[output].view(), wire->axis);
      if (!frame) continue;
      const int64_t delay = pulse * wire->pulse - *frame;
      const auto [known, fresh] = least.emplace(wire, delay);
      if (!fresh) known->second = std::max(known->second, delay);
    }
  }

  Status fill(int64_t pulse, Bounds bounds, uint64_t seed) {
    for (size_t i = 0; i < report_.inputs.size(); ++i) {
      const Stream& stream = report_.inputs[i];
      if (stream.axis < 0 && pulse > 0) continue;
      RILL_TRY(
          fill_with_noise(session_.input(i), stream.axis, pulse * stream.pulse, bounds, seed + i));
    }
    return {};
  }

  Session& session_;
  const Report& report_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
};

}  // namespace

Result<LeastDelays> least_delays(const Graph& graph, const Options& options, const Report& report,
                                 const RunLimits& limits) {
  LeastDelays out;
  out.wires.resize(report.wires.size());
  out.outputs.resize(report.outputs.size());
  RILL_ASSIGN(const Graph whole, before_pulsing(graph, options.symbol));
  std::vector<Seen> seen;
  const Graph wired = with_wires(whole, report, &seen);
  const int64_t pulse = options.pulse.to_int().value_or(0);
  int64_t pulses = kTries + 1;
  for (const Wire& wire : report.wires) {
    if (wire.pulse > 0) pulses = std::max(pulses, wire.delay / wire.pulse + kTries + 2);
  }
  SharedWeights weights;
  std::unique_ptr<Session> session;
  // A model may be defined only for short streams.
  for (; pulses >= 2; pulses /= 2) {
    auto made = session_for(wired, options.symbol, pulses * pulse, limits.elements, &weights);
    if (!made.ok()) continue;
    session = std::move(made).value();
    break;
  }
  if (!session || session->plan().inputs.size() != report.inputs.size()) return out;
  const auto begin = std::chrono::steady_clock::now();
  Runs runs(session.get(), report);
  RILL_TRY(runs.begin());
  const auto late = [&] {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    const bool continues = progress(std::min(1.0, spent.count() / limits.seconds)).ok();
    return !continues || spent.count() > limits.seconds;
  };
  const std::set<int64_t> begins = first_frames(report);
  for (int64_t at = pulses - 1; at >= 1 && !late(); --at) {
    const bool is_tried = at <= kTries || at >= pulses - kTries || begins.contains(at);
    if (is_tried) RILL_TRY(runs.change(at, seen));
  }
  for (int64_t rest = 1; rest <= pulse && pulses >= 3 && !late(); ++rest) {
    if (rest > 1 && rest < pulse && pulse > kTries) continue;
    const int64_t length = (pulses - 2) * pulse + rest;
    auto shorter = session_for(wired, options.symbol, length, limits.elements, &weights);
    if (shorter.ok()) runs.end(shorter->get(), pulses - 2, seen);
  }
  for (size_t i = 0; i < report.wires.size(); ++i) {
    const auto known = runs.least.find(&report.wires[i]);
    if (known != runs.least.end()) out.wires[i] = known->second;
  }
  for (size_t i = 0; i < report.outputs.size(); ++i) {
    if (report.outputs[i].wire < 0) continue;
    const auto& known = out.wires[static_cast<size_t>(report.outputs[i].wire)];
    if (known) out.outputs[i] = std::max<int64_t>(0, *known);
  }
  return out;
}

}  // namespace rill::pulse
