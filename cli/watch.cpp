#include "cli/watch.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/exec.h"
#include "cli/say_impl.h"

namespace rill::cli {

Result<Watcher> Watcher::make(const Graph& graph) {
  // Make every wire an output, so that its value stays available after the run. The original
  // outputs stay first, because a pulsed graph describes its streams by their positions.
  Watcher out;
  Graph watched = graph;
  if (!graph.streaming) {
    watched.outputs.clear();
    watched.output_names.clear();
  }
  out.first_ = watched.outputs.size();
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (node.op->as<Const>()) continue;
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      const DType dtype = node.outputs[slot].dtype;
      if (dtype == DType::kString || dtype == DType::kBlob) continue;
      WatchedValue value;
      value.outlet = {static_cast<int>(id), static_cast<int>(slot)};
      value.name = slot == 0 ? node.name : str_cat(node.name, ":", slot);
      watched.add_output(value.name, value.outlet);
      out.wires_.push_back(std::move(value));
    }
  }
  PrepareOptions options;
  options.optimize = false;
  RILL_ASSIGN(const auto plan, prepare(watched, options));
  RILL_ASSIGN(out.session_, Session::make(plan));
  return out;
}

Result<std::vector<WatchedValue>> Watcher::turn(std::span<const Tensor> inputs) {
  RILL_ASSIGN(std::vector<Tensor> values, run_once(session_.get(), inputs));
  std::vector<WatchedValue> out = wires_;
  for (size_t i = 0; i < out.size(); ++i) out[i].value = std::move(values[first_ + i]);
  return out;
}

Result<std::vector<WatchedValue>> watch_all(const Graph& graph, std::span<const Tensor> inputs) {
  RILL_ASSIGN(Watcher watcher, Watcher::make(graph));
  return watcher.turn(inputs);
}

namespace {

/// Return the index of the first float that satisfies a test, or -1.
template <class Test>
int64_t first_float(const Tensor& tensor, Test test) {
  if (!is_float(tensor.dtype())) return -1;
  for (int64_t i = 0; i < tensor.volume(); ++i) {
    const auto value = element_as_double(tensor, i);
    if (value.ok() && test(*value)) return i;
  }
  return -1;
}

std::string wire_text(const Graph& graph, OutletId outlet) {
  const Node& node = graph.node(outlet.node);
  return str_cat("output ", outlet.slot, " of #", outlet.node, " \"", node.name, "\" ",
                 node.op->name());
}

}  // namespace

namespace {

/// The values of a run by their wires, constants among them.
class Values {
 public:
  Values(const Graph& graph, std::span<const WatchedValue> values) : graph_(graph) {
    for (const WatchedValue& value : values) by_outlet_[value.outlet] = &value.value;
  }

  const Tensor* find(OutletId outlet) const {
    const auto it = by_outlet_.find(outlet);
    return it != by_outlet_.end() ? it->second : graph_.fact(outlet).konst.get();
  }
  /// Return whether a node reads a number that is not finite already.
  bool reads_infinite(const Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](OutletId input) {
      const Tensor* value = find(input);
      return value && first_float(*value, [](double x) { return !std::isfinite(x); }) >= 0;
    });
  }

 private:
  const Graph& graph_;
  std::map<OutletId, const Tensor*> by_outlet_;
};

bool has_halves(std::span<const WatchedValue> values) {
  return std::any_of(values.begin(), values.end(), [](const WatchedValue& value) {
    return value.value.dtype() == DType::kF16;
  });
}

}  // namespace

std::vector<std::string> half_overflows(const Graph& graph, std::span<const WatchedValue> values) {
  constexpr double kMostHalf = 65504;
  // The f32 wires of an f16 model are f32 on purpose, so watch only its f16 wires.
  const DType looked_at = has_halves(values) ? DType::kF16 : DType::kF32;
  const Values known(graph, values);
  std::vector<std::string> out;
  for (const WatchedValue& value : values) {
    if (value.value.dtype() != looked_at) continue;
    const int64_t at = first_float(value.value, [](double x) { return std::abs(x) > kMostHalf; });
    if (at < 0) continue;
    const Node& node = graph.node(value.outlet.node);
    const bool passed_on = looked_at == DType::kF16 && known.reads_infinite(node);
    if (!passed_on) out.push_back(str_cat(wire_text(graph, value.outlet), " overflows f16"));
  }
  return out;
}

Status check_sane(const Graph& graph, std::span<const WatchedValue> values) {
  for (const WatchedValue& value : values) {
    const int64_t at = first_float(value.value, [](double x) { return !std::isfinite(x); });
    if (at < 0) continue;
    const double found = *element_as_double(value.value, at);
    return fail(Code::kState, "Found ",
                std::isnan(found) ? "NaN"
                : found > 0       ? "inf"
                                  : "-inf",
                " in ", wire_text(graph, value.outlet), ", element ", at);
  }
  return {};
}

void print_steps(const Graph& graph, std::span<const WatchedValue> values) {
  const Values known(graph, values);
  const auto text = [&](OutletId outlet) -> std::string {
    const Tensor* value = known.find(outlet);
    return value ? value_text(*value) : graph.fact(outlet).to_string();
  };
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (node.op->as<Const>()) continue;
    const std::string label = escaped_format("#{} \"{}\" {}", id, node.name, node.op->name());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      say_to(stderr, "{} {}<< {}\n", label, i, text(node.inputs[i]));
    }
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      say_to(stderr, "{} {}>> {}\n", label, slot,
             text({static_cast<int>(id), static_cast<int>(slot)}));
    }
  }
}

}  // namespace rill::cli
