#include "cli/axis_names.h"

#include <algorithm>

#include "cli/specs.h"

namespace rill::cli {
namespace {

using Axis = std::pair<OutletId, int>;

/// Sets of identical axes.
class Classes {
 public:
  Axis root(Axis axis) {
    const auto it = parent_.find(axis);
    if (it == parent_.end() || it->second == axis) return axis;
    return it->second = root(it->second);
  }
  void join(Axis a, Axis b) {
    a = root(a);
    b = root(b);
    if (a != b) parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::map<Axis, Axis> parent_;
};

Classes classes_of(const Graph& graph) {
  Classes out;
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    const Facts in = graph.facts_of(node.inputs);
    if (in.empty()) continue;
    for (const AxisTrack& track : node.op->axes(in, node.outputs)) {
      std::vector<Axis> same;
      for (size_t i = 0; i < track.in.size() && i < node.inputs.size(); ++i) {
        if (track.in[i] >= 0) same.emplace_back(node.inputs[i], track.in[i]);
      }
      for (size_t slot = 0; slot < track.out.size(); ++slot) {
        const OutletId own{static_cast<int>(id), static_cast<int>(slot)};
        if (track.out[slot] >= 0) same.emplace_back(own, track.out[slot]);
      }
      for (size_t i = 1; i < same.size(); ++i) out.join(same[0], same[i]);
    }
  }
  return out;
}

}  // namespace

void AxisNames::name(const Graph& graph, std::vector<int> scope, const std::string& prefix,
                     const std::map<Axis, std::string>& hints) {
  Classes classes = classes_of(graph);
  std::map<Axis, std::string> known;
  for (const auto& [axis, hint] : hints) known[classes.root(axis)] = hint;
  int fresh = 0;
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      const OutletId own{static_cast<int>(id), static_cast<int>(slot)};
      std::vector<std::string>& names = names_[{scope, own}];
      for (int axis = 0; axis < node.outputs[slot].rank(); ++axis) {
        auto [it, added] = known.try_emplace(classes.root({own, axis}));
        if (added) it->second = str_cat(prefix, "x", fresh++);
        names.push_back(it->second);
      }
    }
    if (const Graph* body = node.op->nested()) {
      std::vector<int> inside = scope;
      inside.push_back(static_cast<int>(id));
      name(*body, std::move(inside), "loop_" + prefix, {});
    }
  }
}

Result<AxisNames> AxisNames::of(const Graph& graph, std::span<const std::string> hints) {
  std::map<Axis, std::string> known;
  for (const std::string& text : hints) {
    const size_t equals = text.find('=');
    OutletId wire = graph.inputs.empty() ? OutletId{} : graph.inputs[0];
    if (equals != std::string::npos) {
      const std::string node = text.substr(0, equals);
      const auto it = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                   [&](const Node& each) { return each.name == node; });
      if (it == graph.nodes.end()) return fail(Code::kArg, "--axes-names: no node \"", node, "\"");
      wire = {static_cast<int>(it - graph.nodes.begin()), 0};
    }
    const auto names = split(equals == std::string::npos ? text : text.substr(equals + 1), ',');
    for (size_t axis = 0; axis < names.size(); ++axis) {
      known[{wire, static_cast<int>(axis)}] = names[axis];
    }
  }
  AxisNames out;
  out.name(graph, {}, "", known);
  return out;
}

std::string AxisNames::text(std::span<const int> scope, OutletId outlet) const {
  const auto it = names_.find({std::vector<int>(scope.begin(), scope.end()), outlet});
  if (it == names_.end() || it->second.empty()) return "";
  return join(it->second, ",") + " ";
}

}  // namespace rill::cli
