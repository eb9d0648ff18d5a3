#include "pulse/before/long_streams.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/dim/pattern.h"
#include "core/graph/graph_copy.h"
#include "core/graph/some_fields.h"
#include "core/graph/walk.h"
#include "ops/array/symbolic.h"

namespace rill::pulse {
namespace {

/// Calls a function with every extent among an operator's attributes.
class Extents final : public SomeFields {
 public:
  using SomeFields::field;
  explicit Extents(std::function<void(Dim*)> look) : look_(std::move(look)) {}
  void field(const char*, Dim& value) override { look_(&value); }
  void field(const char*, std::vector<Dim>& values) override {
    for (Dim& value : values) look_(&value);
  }

 private:
  std::function<void(Dim*)> look_;
};

/// Return whether an expression contains a minimum or a maximum: a choice between lengths.
bool has_choice(const Dim& dim) {
  bool found = false;
  rebuild(dim, [&](const DimAtom& atom) {
    found |= atom.kind == DimAtom::Kind::kMin || atom.kind == DimAtom::Kind::kMax;
    return std::optional<Dim>();
  });
  return found;
}

class LongStreams final : public GraphCopy {
 public:
  LongStreams(const Graph& graph, std::string_view symbol) : GraphCopy(graph), symbol_(symbol) {}

  /// Return the least stream length from which each min and max has a fixed winner; 0 if no extent
  /// has one.
  int64_t least() const {
    int64_t out = 0;
    Extents settle([&](Dim* dim) {
      if (!dim->mentions(symbol_) || !has_choice(*dim)) return;
      const auto pattern = DimPattern::of(*dim, symbol_);
      if (pattern.ok()) out = std::max(out, pattern->settled());
    });
    for (const Node& node : graph_.nodes) node.op->clone()->fields(settle);
    return out;
  }
  Status assert_least(int64_t frames) {
    return out_.scope.assert_text(str_cat(symbol_, " >= ", frames));
  }

 private:
  Status copy(int id) override {
    const Node& node = graph_.node(id);
    std::shared_ptr<Op> op = node.op->clone();
    bool changed = false;
    Extents simplify([&](Dim* dim) {
      if (!dim->mentions(symbol_) || !has_choice(*dim)) return;
      *dim = out_.scope.simplify(*dim);
      changed = true;
    });
    op->fields(simplify);
    return append(id, changed ? OpPtr(std::move(op)) : node.op, mapped_.inputs_of(node));
  }

  std::string_view symbol_;
};

}  // namespace

Result<Graph> decided_choices(Graph graph, std::string_view symbol) {
  LongStreams streams(graph, symbol);
  return streams.least() == 0 ? std::move(graph) : streams.run();
}

Result<std::optional<Graph>> of_long_streams(const Graph& graph, std::string_view symbol) {
  LongStreams streams(graph, symbol);
  const int64_t frames = streams.least();
  if (frames <= 1) return std::optional<Graph>();
  RILL_TRY(streams.assert_least(frames));
  RILL_ASSIGN(Graph out, streams.run());
  return std::optional<Graph>(std::move(out));
}

std::optional<Graph> of_streams_within_tables(const Graph& graph, std::string_view symbol) {
  Graph out = graph;
  for (const Node& node : graph.nodes) {
    if (node.inputs.size() != 1 || !is_positional(graph, node.inputs[0])) continue;
    const Fact& table = graph.fact(node.inputs[0]);
    const Fact& rows = node.outputs[0];
    if (rows.rank() != table.rank()) continue;
    for (int axis = 0; axis < rows.rank(); ++axis) {
      const bool some = table.dim(axis).to_int().value_or(0) > 1 && rows.dim(axis).mentions(symbol);
      if (some) ops::presumed(out, rows.dim(axis), table.dim(axis));
    }
  }
  if (out.scope.assertions().size() == graph.scope.assertions().size()) return std::nullopt;
  return out;
}

}  // namespace rill::pulse
