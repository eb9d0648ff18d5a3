#include "pulse/before/graph_copy.h"

#include <utility>

#include "core/graph/walk.h"

namespace rill::pulse {

Result<Graph> GraphCopy::run() {
  for (size_t id = 0; id < graph_.nodes.size(); ++id) {
    const Node& node = graph_.nodes[id];
    const int at = static_cast<int>(id);
    if (const Fact* source = source_of(*node.op)) {
      mapped_[{at, 0}] = out_.add_source(node.name, *source, node.line);
    } else if (TensorPtr constant = constant_of(*node.op)) {
      mapped_[{at, 0}] = out_.add_const(node.name, std::move(constant), node.line);
    } else {
      RILL_TRY(copy(at));
    }
  }
  out_.inputs.clear();
  for (const OutletId& input : graph_.inputs) out_.inputs.push_back(mapped_.at(input));
  for (const OutletId& output : graph_.outputs) {
    RILL_ASSIGN(out_.outputs.emplace_back(), whole(output));
  }
  out_.output_names = graph_.output_names;
  return out_.compacted();
}

Status GraphCopy::append(int id, OpPtr op, WireList inputs) {
  const Node& node = graph_.node(id);
  RILL_ASSIGN(const auto outlets, out_.add(node.name, std::move(op), inputs, node.line));
  for (size_t slot = 0; slot < outlets.size(); ++slot) {
    mapped_[{id, static_cast<int>(slot)}] = outlets[slot];
  }
  return {};
}

}  // namespace rill::pulse
