#include "cli/watch.h"

#include <fmt/format.h>

#include <map>

#include "cli/exec.h"

namespace rill::cli {

Result<std::vector<WatchedValue>> watch_all(const Graph& graph, std::span<const Tensor> inputs) {
  // Every wire becomes an output: its value then outlives the run.
  Graph watched = graph;
  watched.outputs.clear();
  watched.output_names.clear();
  std::vector<WatchedValue> out;
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
      out.push_back(std::move(value));
    }
  }
  PrepareOptions options;
  options.optimize = false;
  RILL_ASSIGN(const auto plan, prepare(watched, options));
  RILL_ASSIGN(const auto session, Session::make(plan));
  RILL_ASSIGN(std::vector<Tensor> values, run_once(session.get(), inputs));
  for (size_t i = 0; i < out.size(); ++i) out[i].value = std::move(values[i]);
  return out;
}

void print_steps(const Graph& graph, std::span<const WatchedValue> values) {
  std::map<OutletId, const Tensor*> by_outlet;
  for (const WatchedValue& value : values) by_outlet[value.outlet] = &value.value;
  const auto text = [&](OutletId outlet) -> std::string {
    const auto it = by_outlet.find(outlet);
    if (it != by_outlet.end()) return value_text(*it->second);
    const TensorPtr& constant = graph.fact(outlet).konst;
    return constant ? value_text(*constant) : graph.fact(outlet).to_string();
  };
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (node.op->as<Const>()) continue;
    fmt::print(stderr, "#{} \"{}\" {}\n", id, node.name, node.op->name());
    for (const OutletId input : node.inputs) fmt::print(stderr, "  << {}\n", text(input));
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      fmt::print(stderr, "  >> {}\n", text({static_cast<int>(id), static_cast<int>(slot)}));
    }
  }
}

}  // namespace rill::cli
