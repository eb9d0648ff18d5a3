#include "ops/stream/unmerge.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ops/array/cast.h"
#include "ops/array/groups.h"
#include "ops/array/reshape.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"
#include "ops/nn/einsum.h"
#include "ops/stream/graph_copy.h"

namespace rill::ops {
namespace {

using Dims = std::vector<Dim>;

/// A node whose output keeps axes apart: they stand in place of one of its axes.
struct Part {
  int axis = 0;     ///< of the output
  int carried = 0;  ///< the input that they come with
  int from = 0;     ///< its axis
};

struct Chain {
  int first = -1;  ///< the reshape that merges
  int last = -1;   ///< the one that splits
  int merged = 0;  ///< the axis that the first one makes
  Dims split;
  std::map<int, Part> between;
};

/// Axes that are merged where the stream lies behind one of them.
std::optional<Dims> axes_in(const Fact& fact, int begin, int end, std::string_view symbol) {
  const Dims out(fact.shape.begin() + begin, fact.shape.begin() + end);
  const auto stream =
      std::find_if(out.begin(), out.end(), [&](const Dim& dim) { return dim.mentions(symbol); });
  const bool behind = std::any_of(out.begin(), stream, [](const Dim& d) { return !(d == Dim(1)); });
  return stream != out.end() && behind ? std::optional(out) : std::nullopt;
}

/// The axis of an input that an axis of the output is, for operators that do the same to all along
/// it.
std::optional<Part> part_of(const Graph& graph, const Node& node, int axis) {
  Part part;
  part.axis = axis;
  const Dim& extent = node.outputs[0].dim(axis);
  if (const auto* product = node.op->as<EinSum>()) {
    if (product->operands != 2 || node.inputs.size() != 2) return std::nullopt;
    const char letter = product->letters(2)[static_cast<size_t>(axis)];
    const size_t at[] = {product->letters(0).find(letter), product->letters(1).find(letter)};
    constexpr size_t kNone = std::string_view::npos;
    if ((at[0] == kNone) == (at[1] == kNone)) return std::nullopt;
    part.carried = at[0] == kNone ? 1 : 0;
    part.from = static_cast<int>(at[part.carried]);
    const Fact& fact = graph.fact(node.inputs[static_cast<size_t>(part.carried)]);
    return fact.dim(part.from) == extent ? std::optional(part) : std::nullopt;
  }
  if (!node.op->as<Binary>() && !node.op->as<Unary>() && !node.op->as<Cast>()) return std::nullopt;
  part.carried = -1;
  part.from = axis;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Fact& fact = graph.fact(node.inputs[i]);
    if (fact.rank() != node.outputs[0].rank()) return std::nullopt;
    if (fact.dim(axis) == Dim(1)) continue;
    if (part.carried >= 0) return std::nullopt;
    part.carried = static_cast<int>(i);
  }
  return part.carried >= 0 ? std::optional(part) : std::nullopt;
}

/// The chain that a reshape ends, if it splits what another one merged.
std::optional<Chain> chain_to(const Graph& graph, const std::vector<std::vector<int>>& uses,
                              int last, const AxisGroup& group, std::string_view symbol) {
  if (group.from_end - group.from_begin != 1) return std::nullopt;
  const Node& end = graph.node(last);
  const auto split = axes_in(end.outputs[0], group.to_begin, group.to_end, symbol);
  if (!split) return std::nullopt;
  Chain chain;
  chain.last = last;
  chain.split = *split;
  OutletId at = end.inputs[0];
  int axis = group.from_begin;
  while (uses[static_cast<size_t>(at.node)][static_cast<size_t>(at.slot)] == 1) {
    const Node& node = graph.node(at.node);
    if (node.op->as<Reshape>()) {
      const Fact& in = graph.fact(node.inputs[0]);
      for (const AxisGroup& merged : axis_groups(in.shape, node.outputs[0].shape)) {
        if (merged.to_begin != axis || merged.to_end != axis + 1) continue;
        if (axes_in(in, merged.from_begin, merged.from_end, symbol) != chain.split) break;
        chain.first = at.node;
        chain.merged = axis;
        return chain;
      }
      return std::nullopt;
    }
    const auto part = part_of(graph, node, axis);
    if (!part) return std::nullopt;
    chain.between[at.node] = *part;
    at = node.inputs[static_cast<size_t>(part->carried)];
    axis = part->from;
  }
  return std::nullopt;
}

Dims with_axes(const Dims& shape, int axis, const Dims& in_place) {
  Dims out(shape.begin(), shape.begin() + axis);
  out.insert(out.end(), in_place.begin(), in_place.end());
  out.insert(out.end(), shape.begin() + axis + 1, shape.end());
  return out;
}

/// A product with several letters where it has one; nothing if there are no more.
OpPtr with_letters(const EinSum& product, char letter, size_t count) {
  std::string many(1, letter);
  for (char next = 'a'; next <= 'z' && many.size() < count; ++next) {
    if (product.expr.find(next) == std::string::npos) many += next;
  }
  if (many.size() < count) return nullptr;
  auto out = std::make_shared<EinSum>(product);
  out->expr.clear();
  for (const char each : product.expr) out->expr += each == letter ? many : std::string(1, each);
  return out;
}

/// Copies a graph, chains with their axes apart.
class Copier final : public GraphCopy {
 public:
  Copier(const Graph& graph, const std::vector<Chain>& chains) : GraphCopy(graph) {
    for (const Chain& chain : chains) {
      of_[chain.first] = of_[chain.last] = &chain;
      for (const auto& [id, part] : chain.between) of_[id] = &chain;
    }
  }

 private:
  Status copy(int id) override {
    const Node& node = graph_.node(id);
    std::vector<OutletId> inputs;
    for (const OutletId& input : node.inputs) inputs.push_back(mapped_.at(input));
    OpPtr op = node.op;
    if (const auto found = of_.find(id); found != of_.end()) {
      RILL_ASSIGN(op, apart(*found->second, id, &inputs));
    }
    return append(id, std::move(op), std::move(inputs));
  }

  Result<OpPtr> apart(const Chain& chain, int id, std::vector<OutletId>* inputs) {
    const Node& node = graph_.node(id);
    const auto reshape_to = [&](Dims shape) -> OpPtr {
      return std::make_shared<Reshape>(0, out_.fact((*inputs)[0]).rank(), std::move(shape));
    };
    const Dims& shape = node.outputs[0].shape;
    if (id == chain.last) return reshape_to(shape);
    if (id == chain.first) return reshape_to(with_axes(shape, chain.merged, chain.split));
    const Part& part = chain.between.at(id);
    if (const auto* product = node.op->as<EinSum>()) {
      const char letter = product->letters(2)[static_cast<size_t>(part.axis)];
      return with_letters(*product, letter, chain.split.size());
    }
    for (size_t i = 0; i < inputs->size(); ++i) {
      if (static_cast<int>(i) == part.carried) continue;
      auto units = std::make_shared<Reshape>(part.axis, 1, Dims(chain.split.size(), Dim(1)));
      RILL_ASSIGN(const auto spread, out_.add_folded(str_cat(node.name, "_apart"), std::move(units),
                                                     {(*inputs)[i]}, node.line));
      (*inputs)[i] = spread[0];
    }
    return node.op;
  }

  std::map<int, const Chain*> of_;
};

/// Whether every product has letters left.
bool has_letters(const Graph& graph, const Chain& chain) {
  return std::all_of(chain.between.begin(), chain.between.end(), [&](const auto& each) {
    const auto* product = graph.node(each.first).op->template as<EinSum>();
    return !product || with_letters(*product, product->expr.back(), chain.split.size());
  });
}

}  // namespace

Result<Graph> keep_apart(const Graph& graph, std::string_view symbol) {
  const auto uses = graph.count_uses();
  std::vector<Chain> chains;
  std::map<int, int> taken;
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (!node.op->as<Reshape>()) continue;
    for (const AxisGroup& group :
         axis_groups(graph.fact(node.inputs[0]).shape, node.outputs[0].shape)) {
      auto chain = chain_to(graph, uses, static_cast<int>(id), group, symbol);
      if (!chain || !has_letters(graph, *chain)) continue;
      if (taken[chain->first]++ > 0 || taken[chain->last]++ > 0) continue;
      chains.push_back(std::move(*chain));
    }
  }
  if (chains.empty()) return graph;
  return Copier(graph, chains).run();
}

}  // namespace rill::ops
