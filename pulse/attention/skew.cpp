#include "pulse/attention/skew.h"

#include <algorithm>
#include <map>

#include "core/graph/course.h"
#include "ops/array/elements.h"
#include "ops/array/pad.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"

namespace rill::pulse {

Result<Facts> RelativeShift::infer(FactSpan in) const {
  const int rank = in[0].rank();
  RILL_CHECK(rank >= 2, "expected queries and distances, found ", in[0]);
  Fact out = in[0].without_value();
  out.shape[static_cast<size_t>(rank) - 1] = in[0].dim(rank - 2);
  return one_fact(std::move(out));
}

Course RelativeShift::course() const { return {.form = Course::Form::kShifted}; }

/// The scores of a query are its row without some first elements. If only distances to earlier keys
/// exist, the chain continues with an element of padding, 0 here, and with the next row.
Status RelativeShift::eval(EvalCtx& ctx) const {
  const View& x = ctx.in[0];
  const View& out = ctx.out[0];
  View row = out;
  View column = out;
  row.stride = {};
  column.stride = {};
  row.stride[static_cast<size_t>(out.rank - 2)] = 1;
  column.stride[static_cast<size_t>(out.rank - 1)] = 1;
  const int64_t queries = out.extent(out.rank - 2);
  const int64_t down = x.step(x.rank - 2);
  const int64_t right = x.step(x.rank - 1);
  View rows = x;
  rows.shape[static_cast<size_t>(x.rank - 1)] = queries;
  rows.stride[static_cast<size_t>(x.rank - 1)] = 0;
  ops::visit_size(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    ops::for_each_element<4>(
        {out, rows, row, column}, [&](const std::array<int64_t, 4>& at) {
          const int64_t ahead = at[3] - at[2];
          T* to = out.as<T>() + at[0];
          if (!behind || ahead <= 0) {
            *to = x.as<const T>()[at[1] + (queries - 1 + ahead) * right];
          } else {
            *to = ahead == 1 ? T{} : x.as<const T>()[at[1] + down + (ahead - 2) * right];
          }
        });
  });
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
std::optional<OutletId> behind_one(const Graph& graph, const Node& node, int rank) {
  if (const Course join = node.op->course(); join.is(Course::Form::kJoined)) {
    const bool fits = join.axis() == rank - 1 && node.inputs.size() == 2 &&
                      graph.fact(node.inputs[0]).dim(rank - 1) == Dim(1);
    return fits ? std::optional(node.inputs[1]) : std::nullopt;
  }
  const auto* pad = node.op->as<ops::Pad>();
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

/// The input of a shift, and whether it has only distances of keys that do not follow the query.
struct Shift {
  OutletId from;
  bool behind = false;
};

/// Return the shift whose chain ends in a node; nothing if there is none. Reshapes keep the order
/// of elements, so the extents decide.
std::optional<Shift> shifted_by(const Graph& graph, const Node& last, std::string_view symbol) {
  const int rank = last.outputs[0].rank();
  const SymbolScope& scope = graph.scope;
  const bool behind = rank >= 2 && slices_from(scope, last, rank - 2, 1);
  if (rank < 2 || (!behind && !slices_from(scope, last, rank - 1, 0))) return std::nullopt;
  const auto producer = [&](const Node& node) -> const Node& {
    return graph.node(node.inputs[0].node);
  };
  // Dropping one of the n + 1 rows leaves n, so no final slice is needed.
  const Node& merged = behind ? last : producer(last);
  if (!behind && !merged.op->traits().keeps_order) return std::nullopt;
  const Node& cut = behind ? last : producer(merged);
  if (!slices_from(scope, cut, rank - 2, 1)) return std::nullopt;
  const Node& viewed = producer(cut);
  if (!viewed.op->traits().keeps_order) return std::nullopt;
  const auto source = behind_one(graph, producer(viewed), rank);
  if (!source) return std::nullopt;
  const Fact& fact = graph.fact(*source);
  const Dim& rows = fact.dim(rank - 2);
  const Dim distances = behind ? rows : rows + rows - Dim(1);
  const bool fits = rows.mentions(symbol) && ends_in(scope, fact, rows, distances) &&
                    ends_in(scope, viewed.outputs[0], distances + Dim(1), rows) &&
                    ends_in(scope, cut.outputs[0], distances, rows) &&
                    ends_in(scope, merged.outputs[0], rows, distances) &&
                    ends_in(scope, last.outputs[0], rows, rows);
  return fits ? std::optional(Shift{*source, behind}) : std::nullopt;
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
    op->behind = shift.behind;
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
