#include "audit/first_node.h"

#include <vector>

#include "audit/drive.h"
#include "audit/prepared.h"

namespace rill::audit {

std::string FirstNode::to_string() const {
  return str_cat(name, " (", op, line > 0 ? str_cat(", line ", line) : std::string(), "): ", what);
}

namespace {

/// Return the first wire of the whole graph that differs in the stream.
std::optional<FirstNode> first_node_of(const Graph& whole, const pulse::Options& options,
                                       std::span<const Tensor> inputs,
                                       const Bindings& bindings, int64_t frames,
                                       const Tolerance& tolerance, bool optimize) {
  Graph watched = whole;
  std::vector<int> nodes;
  watched.outputs.clear();
  watched.output_names.clear();
  for (size_t id = 0; id < whole.nodes.size(); ++id) {
    const Node& node = whole.nodes[id];
    if (node.op->as<Const>() || node.op->as<Source>()) continue;
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      const Fact& fact = node.outputs[slot];
      if (!fact.mentions(options.symbol) || dtype_size(fact.dtype) == 0 ||
          fact.dtype == DType::kDim || fact.dtype == DType::kString) {
        continue;
      }
      watched.add_output(str_cat(node.name, ":", slot),
                         {static_cast<int>(id), static_cast<int>(slot)});
      nodes.push_back(static_cast<int>(id));
    }
  }
  Bindings others = bindings;
  std::erase_if(others, [&](const auto& each) { return each.first == options.symbol; });
  const auto graph = pulse::pulsify(watched, options);
  if (!graph.ok()) return std::nullopt;
  SharedWeights weights;
  const auto streamed = make_ready(*graph, others, optimize, 1, &weights);
  const auto batch = make_ready(watched, bindings, optimize, 1, &weights);
  if (!streamed.ok() || !batch.ok()) return std::nullopt;
  const auto want = run_drawn(batch->session.get(), inputs);
  StreamOptions nan;
  nan.nan_filler = true;
  const auto got = run_stream(streamed->session.get(), inputs, frames, nan);
  if (!want.ok() || !got.ok()) return std::nullopt;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto wrong = mismatch((*want)[i], got->outputs[i], tolerance, true);
    if (!wrong) continue;
    const Node& node = whole.node(nodes[i]);
    const int axis = streamed->plan->outputs[i].stream.axis;
    return FirstNode{
        node.name, std::string(node.op->name()), node.line,
        str_cat("pulse ", options.pulse,
                first_bad_frame(axis, (*want)[i], got->outputs[i], tolerance), ": ", *wrong)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<FirstNode> first_node(const Graph& whole, const pulse::Options& options,
                                    std::span<const Tensor> inputs, const Bindings& bindings,
                                    int64_t frames, const Tolerance& tolerance) {
  auto found = first_node_of(whole, options, inputs, bindings, frames, tolerance, true);
  if (!found) found = first_node_of(whole, options, inputs, bindings, frames, tolerance, false);
  return found;
}

}  // namespace rill::audit
