#include "core/graph/graph_copy.h"

#include <utility>

#include "core/graph/walk.h"

namespace rill {

bool WireMap::contains(OutletId original) const {
  const std::vector<OutletId>& wires = by_node_[static_cast<size_t>(original.node)];
  const auto slot = static_cast<size_t>(original.slot);
  return slot < wires.size() && wires[slot].valid();
}

OutletId WireMap::at(OutletId original) const {
  RILL_ASSERT(contains(original));
  return by_node_[static_cast<size_t>(original.node)][static_cast<size_t>(original.slot)];
}

OutletId& WireMap::operator[](OutletId original) {
  std::vector<OutletId>& wires = by_node_[static_cast<size_t>(original.node)];
  const auto slot = static_cast<size_t>(original.slot);
  if (slot >= wires.size()) wires.resize(slot + 1);
  return wires[slot];
}

std::vector<OutletId> WireMap::inputs_of(const Node& node) const {
  std::vector<OutletId> out;
  out.reserve(node.inputs.size());
  for (const OutletId& input : node.inputs) out.push_back(at(input));
  return out;
}

Result<Graph> GraphCopy::run() & {
  RILL_TRY(copy_all());
  return out_.compacted();
}

Result<Graph> GraphCopy::run() && {
  RILL_TRY(copy_all());
  return std::move(out_).compacted();
}

Status GraphCopy::copy_all() {
  for (size_t id = 0; id < graph_.nodes.size(); ++id) RILL_TRY(visit(static_cast<int>(id)));
  out_.inputs.clear();
  for (const OutletId& input : graph_.inputs) out_.inputs.push_back(mapped_.at(input));
  for (const OutletId& output : graph_.outputs) {
    RILL_ASSIGN(out_.outputs.emplace_back(), whole(output));
  }
  out_.output_names = graph_.output_names;
  return {};
}

Status GraphCopy::visit(int id) {
  const Node& node = graph_.node(id);
  if (source_of(*node.op)) {
    mapped_.set(id, {out_.add_source(node.name, node.outputs[0], node.line)});
  } else if (TensorPtr constant = constant_of(*node.op)) {
    mapped_.set(id, {out_.add_const(node.name, std::move(constant), node.line)});
  } else {
    return copy(id);
  }
  return {};
}

Status GraphCopy::append(int id, OpPtr op, WireList inputs) {
  const Node& node = graph_.node(id);
  RILL_ASSIGN(auto outlets, out_.add(node.name, std::move(op), inputs, node.line));
  mapped_.set(id, std::move(outlets));
  return {};
}

Status GraphCopy::append_folded(int id, OpPtr op, WireList inputs) {
  const Node& node = graph_.node(id);
  RILL_ASSIGN(auto outlets, out_.add_folded(node.name, std::move(op), inputs, node.line));
  mapped_.set(id, std::move(outlets));
  return {};
}

}  // namespace rill
