#include "transforms/kv_cache.h"

#include <algorithm>
#include <optional>

#include "core/base/search.h"
#include "ops/array/concat.h"

namespace rill::transforms {
namespace {

struct Cache {
  size_t input = 0;
  size_t output = 0;
};

/// Return the only reader of a wire, or -1.
int only_reader(const Graph& graph, OutletId wire) {
  int found = -1;
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const auto& inputs = graph.nodes[id].inputs;
    const auto times = std::count(inputs.begin(), inputs.end(), wire);
    if (times == 0) continue;
    if (found >= 0 || times > 1) return -1;
    found = static_cast<int>(id);
  }
  return found;
}

std::optional<Cache> cache_at(const Graph& graph, size_t input) {
  const OutletId wire = graph.inputs[input];
  if (contains(graph.outputs, wire)) {
    return std::nullopt;
  }
  const int reader = only_reader(graph, wire);
  if (reader < 0) return std::nullopt;
  const Node& node = graph.node(reader);
  const auto* concat = node.op->as<ops::Concat>();
  if (concat == nullptr || node.inputs.size() != 2) return std::nullopt;
  for (const OutletId& each : node.inputs) {
    const Fact& fact = graph.fact(each);
    if (!fact.dim(static_cast<int>(concat->axis)).as_symbol()) return std::nullopt;
  }
  const auto output = find(graph.outputs, OutletId{reader, 0});
  if (output == graph.outputs.end()) return std::nullopt;
  return Cache{input, static_cast<size_t>(output - graph.outputs.begin())};
}

template <class T>
std::vector<T> moved_last(const std::vector<T>& all, const std::vector<size_t>& last) {
  std::vector<T> out;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!contains(last, i)) out.push_back(all[i]);
  }
  for (const size_t i : last) out.push_back(all[i]);
  return out;
}

}  // namespace

Result<Graph> with_unfolded_caches(const Graph& graph, std::vector<std::string>* caches) {
  Graph out = graph;
  std::vector<size_t> inputs;
  std::vector<size_t> outputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const auto cache = cache_at(graph, i);
    if (!cache) continue;
    inputs.push_back(cache->input);
    outputs.push_back(cache->output);
    out.output_names[cache->output] = str_cat(graph.input_name(i), "_concat");
    if (caches != nullptr) caches->push_back(graph.input_name(i));
  }
  out.inputs = moved_last(out.inputs, inputs);
  out.outputs = moved_last(out.outputs, outputs);
  out.output_names = moved_last(out.output_names, outputs);
  return out;
}

}  // namespace rill::transforms
