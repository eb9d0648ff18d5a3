#include "onnx_loader/build/order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/base/search.h"

namespace rill::onnx {
namespace {

using Producers = std::unordered_map<std::string_view, size_t>;

Producers producers_of(const std::vector<NodeProto>& nodes) {
  Producers out;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string_view output : nodes[i].outputs) {
      if (!output.empty()) out.emplace(output, i);
    }
  }
  return out;
}

bool is_ordered(const std::vector<NodeProto>& nodes, const Producers& producers) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string_view input : nodes[i].inputs) {
      const auto at = producers.find(input);
      if (at != producers.end() && at->second >= i) return false;
    }
  }
  return true;
}

/// Report a node that depends on itself. `waits[i]` are the dependencies of node i.
Status circle(const std::vector<NodeProto>& nodes, const std::vector<std::vector<size_t>>& waits,
              const std::vector<size_t>& open) {
  const auto is_stuck = [&](size_t i) { return open[i] > 0; };
  size_t at = 0;
  while (!is_stuck(at)) ++at;
  std::unordered_set<size_t> seen;
  while (seen.insert(at).second) {
    at = *find_if(waits[at], is_stuck);
  }
  Status status = fail(Code::kParse, "the value \"", nodes[at].outputs[0],
                       "\" is computed from itself: the nodes that lead to it form a circle");
  status.error().node = std::string(nodes[at].name.empty() ? nodes[at].outputs[0] : nodes[at].name);
  status.error().op = std::string(nodes[at].op_type);
  return status;
}

}  // namespace

Status add_reads_of_graphs(const NodeProto& node, ProtoBudget* budget, int depth,
                           std::vector<std::string_view>* reads) {
  for (const AttributeProto& attribute : node.attributes) {
    if (attribute.type != AttributeProto::Type::kGraph || depth == 0) continue;
    RILL_ASSIGN(const GraphProto graph, read_graph(attribute.message, budget));
    std::unordered_set<std::string_view> own;
    for (const ValueInfo& input : graph.inputs) own.insert(input.name);
    for (const TensorProto& tensor : graph.initializers) own.insert(tensor.name);
    std::vector<std::string_view> inner;
    for (const NodeProto& each : graph.nodes) {
      own.insert(each.outputs.begin(), each.outputs.end());
      inner.insert(inner.end(), each.inputs.begin(), each.inputs.end());
      RILL_TRY(add_reads_of_graphs(each, budget, depth - 1, &inner));
    }
    for (const ValueInfo& output : graph.outputs) inner.push_back(output.name);
    std::copy_if(inner.begin(), inner.end(), std::back_inserter(*reads),
                 [&](std::string_view name) { return !own.contains(name); });
  }
  return {};
}

Result<std::vector<const NodeProto*>> in_order(const std::vector<NodeProto>& nodes,
                                               const ProtoBudget& budget) {
  const Producers producers = producers_of(nodes);
  std::vector<const NodeProto*> out;
  out.reserve(nodes.size());
  if (is_ordered(nodes, producers)) {
    for (const NodeProto& node : nodes) out.push_back(&node);
    return out;
  }
  std::vector<std::vector<size_t>> waits(nodes.size());
  std::vector<std::vector<size_t>> readers(nodes.size());
  std::vector<size_t> open(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::vector<std::string_view> reads = nodes[i].inputs;
    ProtoBudget left = budget;
    RILL_TRY(add_reads_of_graphs(nodes[i], &left, kMaxReadDepth, &reads));
    for (const std::string_view name : reads) {
      const auto at = producers.find(name);
      if (at == producers.end()) continue;
      waits[i].push_back(at->second);
      readers[at->second].push_back(i);
    }
    open[i] = waits[i].size();
  }
  // Of all ready nodes, take the first in the file.
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (open[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    const size_t i = ready.top();
    ready.pop();
    out.push_back(&nodes[i]);
    for (const size_t reader : readers[i]) {
      if (--open[reader] == 0) ready.push(reader);
    }
  }
  if (out.size() < nodes.size()) return circle(nodes, waits, open);
  return out;
}

}  // namespace rill::onnx
