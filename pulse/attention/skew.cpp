#include "pulse/attention/skew.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "core/graph/course.h"
#include "core/positions/affine.h"
#include "ops/array/pad.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"
#include "pulse/before/sink_edge_padding.h"

namespace rill::pulse {

Result<Facts> RelativeShift::infer(FactSpan in) const {
  const int rank = in[0].rank();
  RILL_CHECK(rank >= 2, "expected queries and distances, found ", in[0]);
  Fact out = in[0].without_value();
  out.shape[static_cast<size_t>(rank) - 1] = in[0].dim(rank - 2);
  return one_fact(std::move(out));
}

Course RelativeShift::course() const {
  return {.form = Course::Form::kShifted, .begin = &nearest, .step = step, .past_only = past_only};
}

/// Row i of the output is row i of the input from the distance of key 0 on, in steps.
Status RelativeShift::eval(EvalCtx& ctx) const {
  View from = ctx.in[0];
  View to = ctx.out[0];
  const auto rows = static_cast<size_t>(to.rank) - 2;
  const int64_t queries = to.shape[rows];
  const auto size = static_cast<int64_t>(dtype_size(from.dtype));
  const auto begin_at = [&](View* view, int64_t element) {
    view->data = view->as<std::byte>() + element * size;
  };
  RILL_ASSIGN(const int64_t origin, nearest.as_int());
  begin_at(&from, origin * from.stride[rows + 1]);
  from.shape = to.shape;
  from.stride[rows + 1] *= step;
  from.stride[rows] -= from.stride[rows + 1];
  if (!past_only) {
    copy_view(from, to);
    return {};
  }
  // There are no distances to the keys that follow a query.
  const int64_t zero = 0;
  View none = to;
  none.stride = {};
  none.data = const_cast<int64_t*>(&zero);
  copy_view(none, to);
  const std::array<int64_t, 2> down = {from.stride[rows], to.stride[rows]};
  from.shape[rows] = to.shape[rows] = 1;
  for (int64_t query = 0; query < queries; ++query) {
    from.shape[rows + 1] = to.shape[rows + 1] = query + 1;
    copy_view(from, to);
    begin_at(&from, down[0]);
    begin_at(&to, down[1]);
  }
  return {};
}

Status RelativeShift::pulsify(PulseBuilder& b) const {
  ScoresBuilder* scores = b.scores();
  if (!scores) return Op::pulsify(b);
  RILL_ASSIGN(const OutletId out, scores->scores_of_keys(b.wire(0)));
  b.set(0, out, b.stream(0));
  return {};
}

namespace {

/// Return whether a wire has these extents on its last two axes.
bool ends_in(const SymbolScope& scope, const Fact& fact, const Dim& rows, const Dim& columns) {
  const int rank = fact.rank();
  return rank >= 2 && scope.simplify(fact.dim(rank - 2) - rows) == Dim(0) &&
         scope.simplify(fact.dim(rank - 1) - columns) == Dim(0);
}

/// If the node only prepends one element on the last axis, return its input. The element's value
/// does not matter: the shift discards it.
std::optional<OutletId> without_prepended(const Graph& graph, const Node& node, int rank) {
  if (const Course join = node.op->course(); join.is(Course::Form::kJoined)) {
    const bool fits = join.axis() == rank - 1 && node.inputs.size() == 2 &&
                      graph.fact(node.inputs[0]).dim(rank - 1) == Dim(1);
    return fits ? std::optional(node.inputs[1]) : std::nullopt;
  }
  const auto* pad = pad_of(node);
  if (!pad || pad->pads.size() != static_cast<size_t>(rank)) return std::nullopt;
  for (int axis = 0; axis < rank; ++axis) {
    const auto wanted =
        axis == rank - 1 ? std::pair<int64_t, int64_t>{1, 0} : std::pair<int64_t, int64_t>{0, 0};
    if (pad->pads[static_cast<size_t>(axis)] != wanted) return std::nullopt;
  }
  return node.inputs[0];
}

/// Return whether the node drops the first `begin` elements of an axis, and perhaps some at its
/// end.
bool slices_from(const SymbolScope& scope, const Node& node, int64_t axis, int64_t begin) {
  const Course cut = node.op->course();
  return cut.is(Course::Form::kCut) && cut.axis() == axis &&
         scope.simplify(*cut.begin) == Dim(begin);
}

/// The input of a shift, and which of its distances belongs to a key.
struct Shift {
  OutletId from;
  Dim nearest = Dim(0);
  int64_t step = 1;
  bool past_only = false;
};

/// Return the shift whose chain ends in a node; nothing if there is none. Reshapes keep the order
/// of elements, so the extents decide.
std::optional<Shift> shifted_by(const Graph& graph, const Node& last, std::string_view symbol) {
  const int rank = last.outputs[0].rank();
  const SymbolScope& scope = graph.scope;
  const bool past_only = rank >= 2 && slices_from(scope, last, rank - 2, 1);
  if (rank < 2 || (!past_only && !slices_from(scope, last, rank - 1, 0))) return std::nullopt;
  const auto producer = [&](const Node& node) -> const Node& {
    return graph.node(node.inputs[0].node);
  };
  // Dropping one of the n + 1 rows leaves n, so no final slice is needed.
  const Node& merged = past_only ? last : producer(last);
  if (!past_only && !merged.op->traits().keeps_order) return std::nullopt;
  const Node& cut = past_only ? last : producer(merged);
  if (!slices_from(scope, cut, rank - 2, 1)) return std::nullopt;
  const Node& viewed = producer(cut);
  if (!viewed.op->traits().keeps_order) return std::nullopt;
  const auto source = without_prepended(graph, producer(viewed), rank);
  if (!source) return std::nullopt;
  const Fact& fact = graph.fact(*source);
  const Dim& rows = fact.dim(rank - 2);
  const Dim distances = past_only ? rows : rows + rows - Dim(1);
  const bool fits = rows.mentions(symbol) && ends_in(scope, fact, rows, distances) &&
                    ends_in(scope, viewed.outputs[0], distances + Dim(1), rows) &&
                    ends_in(scope, cut.outputs[0], distances, rows) &&
                    ends_in(scope, merged.outputs[0], rows, distances) &&
                    ends_in(scope, last.outputs[0], rows, rows);
  return fits ? std::optional(Shift{*source, rows - Dim(1), 1, past_only}) : std::nullopt;
}

/// Return the shift that a gather at differences of positions is; nothing for other nodes. `scores`
/// has the distances of the queries, `places` the index of each key for the queries of each of the
/// other axes, which may be merged with the queries.
std::optional<Shift> gathered_shift(const Graph& graph, OutletId scores, OutletId places,
                                    std::string_view symbol) {
  const SymbolScope& scope = graph.scope;
  const Fact& of_scores = graph.fact(scores);
  const Fact& of_places = graph.fact(places);
  const int rank = of_places.rank();
  if (of_scores.rank() < 2 || rank < 2) return std::nullopt;
  const Dim& rows = of_scores.dim(of_scores.rank() - 2);
  const Dim& distances = of_scores.shape.back();
  if (!rows.mentions(symbol) || !(of_places.shape.back() == rows)) return std::nullopt;
  const auto place = affine_place(graph, places, {rank - 2, rank - 1, -1}, rows, symbol);
  if (!place || place->row != -place->column || std::abs(place->row) != 1) return std::nullopt;
  const Dim last = rows - Dim(1);
  const auto within = [&](const Dim& query, const Dim& key) {
    const Dim at = place->at(query, key);
    return scope.proves_non_negative(at) && scope.proves_ge(distances - Dim(1), at);
  };
  if (!within(Dim(0), Dim(0)) || !within(last, Dim(0))) return std::nullopt;
  return Shift{scores, scope.simplify(place->start), place->column,
               place->behind || !within(Dim(0), last)};
}

/// Return whether the axes of two wires are equal, the last one excepted.
bool same_rows(const Fact& a, const Fact& b) {
  return a.rank() == b.rank() && std::equal(a.shape.begin(), a.shape.end() - 1, b.shape.begin());
}

/// As above, for the last node of the shift: a gather, or a reshape that undoes one before the
/// gather.
std::optional<Shift> gathered_shift(const Graph& graph, const Node& last,
                                    std::string_view symbol) {
  const bool views = last.op->traits().keeps_order && last.inputs.size() == 1;
  const Node& node = views ? graph.node(last.inputs[0].node) : last;
  const Course picked = node.op->course();
  if (!picked.is(Course::Form::kPicked) || picked.axis() != node.outputs[0].rank() - 1 ||
      !same_rows(graph.fact(node.inputs[0]), graph.fact(node.inputs[1]))) {
    return std::nullopt;
  }
  OutletId scores = node.inputs[0];
  if (views) {
    const Node& merged = graph.node(scores.node);
    if (!merged.op->traits().keeps_order || merged.inputs.size() != 1) return std::nullopt;
    scores = merged.inputs[0];
  }
  const Fact& given = graph.fact(scores);
  const Fact& made = last.outputs[0];
  const bool fits = same_rows(given, made) && given.rank() >= 2 &&
                    given.shape.back() == graph.fact(node.inputs[0]).shape.back() &&
                    made.shape.back() == node.outputs[0].shape.back();
  return fits ? gathered_shift(graph, scores, node.inputs[1], symbol) : std::nullopt;
}

/// Replace each node for which `shift_of` returns a shift.
template <class ShiftOf>
Graph replaced(Graph graph, const ShiftOf& shift_of) {
  std::map<size_t, Shift> shifts;
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const auto shift = shift_of(graph, graph.nodes[id]);
    if (shift) shifts.emplace(id, *shift);
  }
  if (shifts.empty()) return graph;
  for (const auto& [id, shift] : shifts) {
    auto op = draft_op<RelativeShift>();
    op->nearest = shift.nearest;
    op->step = shift.step;
    op->past_only = shift.past_only;
    graph.nodes[id].op = std::move(op);
    graph.nodes[id].inputs = {shift.from};
  }
  return std::move(graph).compacted();
}

}  // namespace

Result<Graph> with_gathered_shifts(Graph graph, std::string_view symbol) {
  return replaced(std::move(graph), [&](const Graph& whole, const Node& node) {
    return gathered_shift(whole, node, symbol);
  });
}

Graph gather_shifts(Graph graph, std::string_view symbol) {
  return replaced(std::move(graph), [&](const Graph& whole, const Node& node) {
    return shifted_by(whole, node, symbol);
  });
}

Result<OutletId> add_shift(PulseBuilder& b, std::string_view name, OutletId scores, int64_t queries,
                           int64_t keys) {
  const int rank = b.fact(scores).rank();
  const auto last = static_cast<int64_t>(rank) - 1;
  const int64_t distances = queries + keys - 1;
  Pads pads(static_cast<size_t>(rank), {0, 0});
  pads.back() = {1, 0};
  RILL_ASSIGN(Tensor zero, Tensor::zeros(b.fact(scores).dtype, {}));
  const auto reshaped = [&](int64_t rows, int64_t columns) {
    return make_op<ops::Reshape>(last - 1, 2, std::vector<Dim>{Dim(rows), Dim(columns)});
  };
  RILL_ASSIGN(OutletId wire,
              b.add1(name,
                     make_op<ops::Pad>(std::move(pads), "constant",
                                       std::make_shared<const Tensor>(std::move(zero))),
                     {scores}));
  RILL_ASSIGN(wire, b.add1(name, reshaped(distances + 1, queries), {wire}));
  RILL_ASSIGN(wire,
              b.add1(name, make_op<ops::Slice>(last - 1, Dim(1), Dim(distances + 1)), {wire}));
  RILL_ASSIGN(wire, b.add1(name, reshaped(queries, distances), {wire}));
  return b.add1(name, make_op<ops::Slice>(last, Dim(0), Dim(keys)), {wire});
}

}  // namespace rill::pulse
