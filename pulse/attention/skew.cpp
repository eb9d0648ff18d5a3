#include "pulse/attention/skew.h"

#include <algorithm>
#include <map>

#include "core/graph/course.h"
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
  return {.form = Course::Form::kShifted, .past_only = past_only};
}

/// Row i of the output is row i of the input from element T - 1 - i on.
Status RelativeShift::eval(EvalCtx& ctx) const {
  View from = ctx.in[0];
  View to = ctx.out[0];
  const auto rows = static_cast<size_t>(to.rank) - 2;
  const int64_t queries = to.shape[rows];
  const auto size = static_cast<int64_t>(dtype_size(from.dtype));
  const auto begin_at = [&](View* view, int64_t element) {
    view->data = view->as<std::byte>() + element * size;
  };
  begin_at(&from, (queries - 1) * from.stride[rows + 1]);
  from.shape = to.shape;
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

/// The input of a shift, and whether it covers only keys that do not follow the query.
struct Shift {
  OutletId from;
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
  return fits ? std::optional(Shift{*source, past_only}) : std::nullopt;
}

}  // namespace

Graph gather_shifts(Graph graph, std::string_view symbol) {
  std::map<size_t, Shift> shifts;
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const auto shift = shifted_by(graph, graph.nodes[id], symbol);
    if (shift) shifts.emplace(id, *shift);
  }
  if (shifts.empty()) return graph;
  for (const auto& [id, shift] : shifts) {
    auto op = draft_op<RelativeShift>();
    op->past_only = shift.past_only;
    graph.nodes[id].op = std::move(op);
    graph.nodes[id].inputs = {shift.from};
  }
  return std::move(graph).compacted();
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
