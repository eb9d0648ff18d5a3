#include "ops/control/scan_hoist.h"

#include "ops/array/slice.h"
#include "ops/control/scan.h"

namespace rill::ops {
namespace {

/// Return the only node that reads an outlet, if it reads it once. -1 if there are several reads,
/// or if the outlet is an output.
int only_reader(const Graph& graph, OutletId outlet) {
  int reader = -1;
  for (const OutletId& output : graph.outputs) {
    if (output == outlet) return -1;
  }
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    for (const OutletId& input : graph.nodes[id].inputs) {
      if (!(input == outlet)) continue;
      if (reader >= 0) return -1;
      reader = static_cast<int>(id);
    }
  }
  return reader;
}

/// Replace the slice of an input of the body by the input itself, which is now sliced outside.
Graph without_slice(const Graph& body, OutletId source, int slice) {
  Graph out = body;
  const OutletId sliced{slice, 0};
  const Fact fact = body.fact(sliced).without_value();
  Node& node = out.nodes[static_cast<size_t>(source.node)];
  node.op = make_op<Source>(fact);
  node.outputs[0] = fact;
  for (Node& each : out.nodes) {
    for (OutletId& input : each.inputs) {
      if (input == sliced) input = source;
    }
  }
  for (OutletId& output : out.outputs) {
    if (output == sliced) output = source;
  }
  return std::move(out).compacted();
}

}  // namespace

Status hoist_slices(const Scan& scan, Rewrite& rewrite) {
  for (size_t i = 0; i < scan.inputs.size(); ++i) {
    if (scan.inputs[i].kind != Scan::Input::Kind::kFull) continue;
    const OutletId source = scan.body->inputs[i];
    const int reader = only_reader(*scan.body, source);
    const auto* slice = reader < 0 ? nullptr : scan.body->node(reader).op->as<Slice>();
    if (!slice || !slice->begin.is_const() || !slice->end.is_const()) continue;
    if (scan.body->fact(source).dim(static_cast<int>(slice->axis)).is_const()) continue;
    auto shorter = draft_op<Scan>(scan);
    shorter->body = std::make_shared<const Graph>(without_slice(*scan.body, source, reader));
    const Node& node = rewrite.node();
    std::vector<OutletId> inputs = rewrite.mapped_inputs(node);
    RILL_ASSIGN(inputs[i],
                rewrite.wire1(str_cat(node.name, ".", scan.body->node(reader).name),
                              make_op<Slice>(slice->axis, slice->begin, slice->end), {inputs[i]}));
    RILL_ASSIGN(auto out, rewrite.wire(node.name, std::move(shorter), inputs));
    return rewrite.replace(out);
  }
  return {};
}

}  // namespace rill::ops
