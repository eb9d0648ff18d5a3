#include "pulse/attention/pulsed_scores.h"

#include <algorithm>

#include "core/graph/walk.h"
#include "ops/array/concat.h"
#include "ops/array/gather.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"
#include "ops/math/binary.h"
#include "ops/math/select.h"
#include "ops/stream/delay.h"
#include "pulse/attention/skew.h"

namespace rill::pulse {
namespace {

Status refuse_mixed(const PulseBuilder& b, const Node& node) {
  return b.refuse(
      "Use elementwise operators between scores and values, and make masks of positions "
      "alone, as in arange(t) // 4",
      "node \"", node.name, "\" (", node.op->name(),
      "), between scores and values, mixes frames of the stream");
}

/// Return a shape of that rank with `extent` on one axis, and 1 on all others.
std::vector<Dim> shape_along(int axis, int rank, const Dim& extent) {
  std::vector<Dim> shape(static_cast<size_t>(rank), Dim(1));
  shape[static_cast<size_t>(axis)] = extent;
  return shape;
}

}  // namespace

Result<std::vector<Square>> followed_inputs(const PulseBuilder& b, const Graph& body,
                                            const Node& node, Square output) {
  auto inner = squares_of_inputs(body, node, output, b.symbol());
  if (inner) return std::move(*inner);
  return refuse_mixed(b, node);
}

int input_of(const Graph& body, OutletId outlet) {
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    if (body.inputs[i] == outlet) return static_cast<int>(i);
  }
  return -1;
}

Result<OutletId> PulsedScores::values(const PlacedWire& wire) {
  of_values_ = true;
  return emit(wire);
}

/// Pulse the wires that a wire is computed from before the wire itself. Uses no recursion, because
/// bodies may be deep.
Result<OutletId> PulsedScores::emit(const PlacedWire& wire) {
  std::vector<PlacedWire> open{wire};
  while (!open.empty()) {
    const PlacedWire next = open.back();
    const Node& node = whole_.node(next.first.node);
    if (done_.contains(next)) {
      open.pop_back();
      continue;
    }
    RILL_ASSIGN(const auto inner, followed_inputs(around_, whole_, node, next.second));
    const size_t before = open.size();
    for (size_t k = inner.size(); k-- > 0;) {
      const PlacedWire part{node.inputs[k], inner[k]};
      if (!done_.contains(part)) open.push_back(part);
    }
    if (open.size() > before) continue;
    PulsedWire out;
    RILL_ASSIGN(out.outlet, emit_one(next));
    const Square at = next.second;
    const int axis = at.row >= 0 ? at.row : std::max(at.column, at.distance);
    if (axis >= 0) out.stream = StreamFact{axis, whole_.fact(next.first).dim(axis), 0, nullptr, at};
    done_.emplace(next, std::move(out));
  }
  return done_.at(wire).outlet;
}

Result<OutletId> PulsedScores::emit_one(const PlacedWire& wire) {
  const Node& node = whole_.node(wire.first.node);
  if (input_of(whole_, wire.first) >= 0) return emit_input(wire);
  if (const TensorPtr constant = constant_of(*node.op)) return around_.konst(node.name, *constant);
  return by_rule(wire);
}

Result<OutletId> PulsedScores::by_rule(const PlacedWire& wire) {
  node_ = wire.first.node;
  at_ = wire.second;
  const Node& node = whole_.node(node_);
  RILL_ASSIGN(inner_, followed_inputs(around_, whole_, node, at_));
  made_.assign(node.outputs.size(), {});
  RILL_TRY(node.op->pulsify(*this));
  return made_[static_cast<size_t>(wire.first.slot)];
}

Result<OutletId> PulsedScores::emit_input(const PlacedWire& wire) {
  const auto& [outlet, stream, front] = inputs_.at(wire);
  if (!stream) return outlet;
  if (stream->axis != wire.second.column) {
    return around_.delay(outlet, *stream, layout_.query_delay - stream->delay, 0);
  }
  ops::Delay kept;
  kept.axis = stream->axis;
  kept.delay = layout_.key_delay - stream->delay;
  kept.overlap = layout_.keys - layout_.key_pulse;
  kept.reserve = layout_.reserve;
  OutletId passing = outlet;
  if (kept.delay + kept.overlap + kept.reserve != 0) {
    RILL_ASSIGN(passing, around_.add1("delay", make_op<ops::Delay>(kept), {passing}));
  }
  RILL_ASSIGN(passing, layout_.first.keep(around_, outlet, *stream, passing));
  return behind_front(front, stream->axis, passing);
}

/// Prefix the streaming keys with the keys before them.
Result<OutletId> PulsedScores::behind_front(OutletId front, int axis, OutletId rest) {
  if (layout_.front == 0) return rest;
  return around_.add1("front", make_op<ops::Concat>(axis), {front, rest});
}

std::vector<Dim> PulsedScores::pulsed_shape() const {
  std::vector<Dim> shape = PulseBuilder::pulsed_shape();
  const std::pair<int, int64_t> extents[] = {{at_.row, layout_.pulse},
                                             {at_.column, layout_.columns()},
                                             {at_.distance, layout_.distances()}};
  for (const auto& [axis, extent] : extents) {
    if (axis >= 0) shape[static_cast<size_t>(axis)] = Dim(extent);
  }
  return shape;
}

ops::PulseRange PulsedScores::range(int64_t start, int64_t step, bool row) const {
  ops::PulseRange op;
  op.start = start;
  op.step = step;
  op.frames = row ? layout_.pulse : layout_.key_pulse;
  op.overlap = row ? 0 : layout_.keys - layout_.key_pulse;
  op.delay = row ? layout_.query_delay : layout_.key_delay;
  return op;
}

Result<OutletId> PulsedScores::positions(int64_t start, int64_t step, bool row) {
  const int64_t front = row ? 0 : layout_.front;
  const ops::PulseRange op = range(start + step * front, step, row);
  RILL_ASSIGN(OutletId out, add1(make_op<ops::PulseRange>(op), {}));
  if (row) return out;
  RILL_ASSIGN(out, layout_.first.number(around_, node().name, op, out));
  if (front == 0) return out;
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < front; ++i) numbers.push_back(start + step * i);
  RILL_ASSIGN(const OutletId before, numbers_of(numbers));
  return behind_front(before, 0, out);
}

/// Distances are the same in every pulse.
Result<OutletId> PulsedScores::count_distances(const Dim& start, int64_t step) {
  if (!nearest_) {
    return refuse("Take distances from a range or a table",
                  "it does not give the distances of keys from queries");
  }
  const Dim zero = start + Dim(step) * nearest_->index;
  const auto origin = scope().simplify(zero).to_int();
  if (!origin) {
    return refuse("Count distances from the middle", "its value at distance 0 is ", zero,
                  ", which is not a number");
  }
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < layout_.distances(); ++i) {
    numbers.push_back(*origin + step * nearest_->step * (layout_.least_distance() + i));
  }
  return numbers_of(numbers);
}

Result<OutletId> PulsedScores::numbers_of(const std::vector<int64_t>& numbers) {
  RILL_ASSIGN(Tensor tensor, Tensor::of<int64_t>(
                                 DType::kI64, {static_cast<int64_t>(numbers.size())}, numbers));
  return konst("", std::move(tensor));
}

Result<OutletId> PulsedScores::count(int axis, const Dim& start, int64_t step) {
  if (axis == at_.distance) return count_distances(start, step);
  const auto first = start.to_int();
  if (!first) return refuse("Count from a fixed number", "it counts from ", start);
  return positions(*first, step, axis == at_.row);
}

/// Clamp to the table: positions or distances beyond it are masked, or the stream is longer than
/// the model supports.
Result<OutletId> PulsedScores::rows(int axis, const Dim& begin) {
  const OutletId table = wire(0);
  const auto last = (fact(table).dim(axis) - Dim(1)).to_int();
  if (!last || *last < 0) return refuse("Use a table of fixed size", "its table has no rows");
  RILL_ASSIGN(OutletId numbers, count(axis, begin, 1));
  for (const int64_t limit : {int64_t{0}, *last}) {
    RILL_ASSIGN(const OutletId other, numbers_of({limit}));
    const auto kind = limit == 0 ? ops::BinaryKind::kMax : ops::BinaryKind::kMin;
    RILL_ASSIGN(numbers, add1(make_op<ops::Binary>(kind), {numbers, other}));
  }
  return add1(make_op<ops::Gather>(axis), {table, numbers});
}

Result<OutletId> PulsedScores::hide(OutletId scores, int column, bool weights) {
  ops::PulseKeyMask op;
  op.axis = column;
  op.pulse = layout_.key_pulse;
  op.delay = layout_.key_delay;
  op.length = layout_.length;
  op.weights = weights;
  const ops::PulseRange passing = range(0, 1, false);
  if (layout_.front == 0) return layout_.first.hide(around_, scores, op, passing);
  const auto part = [&](int64_t begin, const Dim& end) {
    return add1(make_op<ops::Slice>(column, Dim(begin), end), {scores});
  };
  RILL_ASSIGN(const OutletId before, part(0, Dim(layout_.front)));
  RILL_ASSIGN(OutletId rest, part(layout_.front, fact(scores).dim(column)));
  RILL_ASSIGN(rest, layout_.first.hide(around_, rest, op, passing));
  return behind_front(before, column, rest);
}

Result<OutletId> PulsedScores::hide_keys(OutletId scores) {
  if (of_values_) {
    return refuse("Normalise scores over the keys", "it normalises values over the keys");
  }
  normalised_ = true;
  return hide(scores, at_.column, false);
}

Result<OutletId> PulsedScores::keep_side(OutletId wire, const Dim& diagonal, bool upper) {
  const Fact& whole = out(0);
  const int rank = whole.rank();
  if (at_.row != rank - 2 || at_.column != rank - 1) {
    return refuse("Cut the diagonal over queries and keys",
                  "it cuts along a diagonal that is not that of queries and keys");
  }
  const auto k = diagonal.to_int();
  if (!k) {
    return refuse("Cut along a diagonal that is a number", "it cuts along diagonal ", diagonal);
  }
  const auto along = [&](int axis, int64_t start) -> Result<OutletId> {
    RILL_ASSIGN(const OutletId flat, positions(start, 1, axis == at_.row));
    return add1(make_op<ops::Reshape>(0, 1, shape_along(axis, rank, fact(flat).dim(0))), {flat});
  };
  RILL_ASSIGN(const OutletId rows, along(at_.row, *k));
  RILL_ASSIGN(const OutletId columns, along(at_.column, 0));
  const auto kind = upper ? ops::BinaryKind::kGe : ops::BinaryKind::kLe;
  RILL_ASSIGN(const OutletId kept, add1(make_op<ops::Binary>(kind), {columns, rows}));
  RILL_ASSIGN(Tensor zero,
              Tensor::zeros(whole.dtype, std::vector<int64_t>(static_cast<size_t>(rank), 1)));
  RILL_ASSIGN(const OutletId none, konst("", std::move(zero)));
  return add1(make_op<ops::Select>(), {kept, wire, none});
}

Result<OutletId> PulsedScores::scores_of_keys(OutletId scores) {
  if (layout_.first.count() > 0) {
    return refuse("Limit attention to a window of frames",
                  "its first keys have no fixed distance from queries that see them");
  }
  return add_shift(around_, node().name, scores, layout_.pulse, layout_.keys);
}

Result<std::vector<OutletId>> PulsedScores::add(std::string_view, OpPtr op, WireList inputs) {
  return around_.add(node().name, std::move(op), inputs);
}

Result<OutletId> PulsedScores::konst(std::string_view, Tensor value) {
  return around_.konst(node().name, std::move(value));
}

Status PulsedScores::give(int i, OutletId pulsed, PulsedOutput output) {
  if (auto* refused = std::get_if<PulsedOutput::Refused>(&output.what)) {
    return std::move(refused->why);
  }
  made_[static_cast<size_t>(i)] = pulsed;
  return {};
}

Status PulsedScores::mixed() const { return refuse_mixed(*this, node()); }

}  // namespace rill::pulse
