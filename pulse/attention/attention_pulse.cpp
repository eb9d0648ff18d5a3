// The streaming form of attention.

#include <algorithm>
#include <map>
#include <numeric>

#include "core/base/search.h"
#include "core/dim/pattern.h"
#include "core/graph/course.h"
#include "core/graph/pulse.h"
#include "core/graph/walk.h"
#include "core/run/frames_so_far.h"
#include "ops/array/broadcast.h"
#include "ops/array/cast.h"
#include "ops/array/gather.h"
#include "ops/array/reshape.h"
#include "ops/math/binary.h"
#include "ops/math/select.h"
#include "ops/stream/delay.h"
#include "pulse/attention/attention.h"
#include "pulse/attention/band.h"
#include "pulse/attention/layout.h"
#include "pulse/attention/skew.h"

namespace rill::pulse {
namespace {

using Form = Course::Form;

/// Return whether a node cuts a table to the positions of queries or of keys.
bool cuts_positions(const Course& course, Square at) {
  return course.is(Form::kCut) && (course.axis() == at.row || course.axis() == at.column);
}

class Streamed {
 public:
  Streamed(PulseBuilder& b, const Attention& op) : b_(b), op_(op), body_(*op.body) {}

  Status run() {
    const OutletId product = body_.outputs[0];
    const int weights = static_cast<int>(op_.weights);
    values_ = body_.node(product.node).inputs[static_cast<size_t>(1 - weights)];
    const Square square{op_.place(weights, op_.query), op_.place(weights, op_.key), -1};
    const Square column{op_.place(1 - weights, op_.query), op_.place(1 - weights, op_.key), -1};
    const OutletId used = body_.node(product.node).inputs[static_cast<size_t>(weights)];
    RILL_TRY(ask(used, square));
    RILL_TRY(ask(values_, column));
    RILL_TRY(gather_inputs());
    RILL_ASSIGN(const Band band, find_band(used, square));
    const Dim& queries = b_.out(0).dim(op_.place(2, op_.query));
    RILL_TRY(lay_out(b_, band, queries, behind_, &layout_));
    std::vector<OutletId> operands(2);
    OutletId& weighed = operands[static_cast<size_t>(weights)];
    RILL_ASSIGN(weighed, emit(used, square));
    // Scores of keys outside the stream may have any value, and no softmax has hidden them.
    if (!normalised_ || band.zeroed) {
      RILL_ASSIGN(weighed, mask_keys(weighed, square, true));
    }
    of_values_ = true;
    RILL_ASSIGN(operands[static_cast<size_t>(1 - weights)], emit(values_, column));
    RILL_ASSIGN(const OutletId out, b_.add1(body_.node(product.node).op, operands));
    StreamFact stream;
    stream.axis = op_.place(2, op_.query);
    stream.dim = b_.out(0).dim(stream.axis);
    stream.delay = layout_.query_delay;
    b_.set(0, out, stream);
    return {};
  }

 private:
  using Key = std::pair<OutletId, Square>;

  /// Find the inputs that hold queries, and those that hold keys.
  Status ask(OutletId used, Square square) {
    std::vector<Key> open{{used, square}};
    while (!open.empty()) {
      const auto [outlet, at] = open.back();
      open.pop_back();
      if (!asked_.insert({{outlet, at}, 0}).second) continue;
      const Node& node = body_.node(outlet.node);
      if (input_of(outlet) >= 0) continue;
      if (const auto* shift = node.op->as<RelativeShift>()) {
        behind_ |= shift->behind;
        const Dim nearest = node.outputs[0].dim(at.column) - Dim(1);
        if (nearest_ && !(*nearest_ == nearest)) {
          return b_.refuse("Give all distances one length", "distances of two lengths meet");
        }
        nearest_ = nearest;
      }
      RILL_ASSIGN(const std::vector<Square> inner, squares(node, at));
      for (size_t k = inner.size(); k-- > 0;) open.emplace_back(node.inputs[k], inner[k]);
    }
    return {};
  }

  Result<std::vector<Square>> squares(const Node& node, Square at) const {
    auto inner = squares_of_inputs(body_, node, at, b_.symbol());
    if (inner) return std::move(*inner);
    return b_.refuse(
        "Use elementwise operators between scores and values, and make masks of positions "
        "alone, as in arange(t) // 4",
        "node \"", node.name, "\" (", node.op->name(),
        "), between scores and values, mixes frames of the stream");
  }

  int input_of(OutletId outlet) const {
    for (size_t i = 0; i < body_.inputs.size(); ++i) {
      if (body_.inputs[i] == outlet) return static_cast<int>(i);
    }
    return -1;
  }

  /// Align the keys to one delay, at which their end is known before later frames arrive.
  Status gather_inputs() {
    for (const auto& [key, unused] : asked_) {
      const auto& [outlet, at] = key;
      const int i = input_of(outlet);
      if (i < 0) continue;
      ready_ = std::max(ready_, b_.await(i));
      const auto stream = b_.stream(i);
      if (!stream) continue;
      if (stream->axis != at.row && stream->axis != at.column) {
        return b_.refuse("Use elementwise operators between scores and values",
                         "the streaming axis of input ", i, " is lost among its scores");
      }
      Input input{b_.wire(i), *stream};
      RILL_ASSIGN(input.wire, b_.materialise(input.wire, &input.stream));
      RILL_ASSIGN(const int64_t pulse, b_.pulse_of(input.wire, stream->axis));
      int64_t& own = stream->axis == at.row ? layout_.pulse : layout_.key_pulse;
      if (own != 0 && own != pulse) {
        return b_.refuse("Bring them to one rate", stream->axis == at.row ? "queries" : "keys",
                         " run at ", counted(pulse, "frame"), " per pulse, and others at ", own);
      }
      own = pulse;
      if (stream->axis == at.column) {
        if (outlet == values_) {
          // Keys outside the stream have weight 0; their values must not be NaN, since 0 * NaN is
          // NaN.
          RILL_ASSIGN(const Tensor zero, Tensor::zeros(b_.in(i).dtype, {}));
          RILL_ASSIGN(input.wire, b_.mask(input.wire, &input.stream, true, true, zero));
        } else {
          RILL_ASSIGN(input.wire, b_.hold(input.wire, &input.stream));
        }
        layout_.key_delay = std::max(layout_.key_delay, input.stream.delay);
        layout_.length = input.stream.dim;
      } else {
        layout_.query_delay = std::max(layout_.query_delay, input.stream.delay);
      }
      inputs_.insert_or_assign(key, input);
    }
    if (layout_.pulse == 0) {
      RILL_ASSIGN(layout_.pulse, b_.frames_per_pulse(b_.out(0).dim(op_.place(2, op_.query))));
    }
    if (layout_.key_pulse == 0) layout_.key_pulse = layout_.pulse;
    const int64_t places = std::lcm(layout_.pulse, layout_.key_pulse);
    layout_.rates = {places / layout_.pulse, places / layout_.key_pulse};
    layout_.query_delay = std::max(layout_.query_delay, ready_ * layout_.pulse);
    return {};
  }

  /// Return by how many ticks of the common clock the keys may end before the last query;
  /// kMostFrames, more than any stream has, if that is unknown. Negative if keys follow the last
  /// query.
  int64_t fewer_keys(const Fact& scores, Square at) const {
    const Dim queries = Dim(layout_.rates.query) * (scores.dim(at.row) - Dim(1)) + Dim(1);
    const Dim apart = b_.scope().simplify(queries - Dim(layout_.rates.key) * scores.dim(at.column));
    const auto pattern = DimPattern::of(apart, b_.symbol());
    const auto most = pattern.ok() ? pattern->greatest(1) : pattern.status();
    const int64_t told = most.ok() ? most->value_or(kMostFrames) : kMostFrames;
    return std::clamp(told, -kMostFrames, kMostFrames);
  }

  /// The keys that queries see, by the number of a query. Where keys and queries run at different
  /// rates, positions are compared on a clock with a tick for each.
  Result<Band> find_band(OutletId used, Square square) const {
    const int64_t fewer = fewer_keys(body_.fact(used), square);
    if (layout_.rates.alike()) {
      return band_of(body_, op_.large, used, square, fewer, b_.symbol());
    }
    std::map<int, SlowRange> slower;
    for (const auto& [key, unused] : asked_) {
      const auto& [outlet, at] = key;
      const Node& node = body_.node(outlet.node);
      if (at.row < 0 && at.column < 0) continue;
      const Course course = node.op->course();
      if (cuts_positions(course, at) || at.distance >= 0 || course.is(Form::kTriangle) ||
          course.is(Form::kSummed)) {
        return b_.refuse(
            "Compare positions that are ranges, as in arange(n) * 2 for keys of half "
            "the rate, or bring queries and keys to one rate",
            "queries run at ", counted(layout_.pulse, "frame"), " per pulse, and keys at ",
            layout_.key_pulse, ", which node \"", node.name, "\" (", node.op->name(),
            ") does not distinguish");
      }
      if (!course.is(Form::kCounted)) continue;
      const int64_t places = at.row >= 0 ? layout_.rates.query : layout_.rates.key;
      slower[outlet.node] = {*course.begin, course.step, places};
    }
    RILL_ASSIGN(const OnOneClock clocked, on_one_clock(body_, op_.large, used, slower));
    const Band band = band_of(clocked.body, clocked.large, clocked.used, square, fewer,
                               b_.symbol());
    return band_by_queries(band, layout_.rates);
  }

  Dim extent(const Dim& whole, int axis, Square at) const {
    if (axis == at.row) return layout_.pulse;
    if (axis == at.column) return layout_.columns();
    if (axis == at.distance) return layout_.distances();
    return b_.pulsed(whole);
  }
  std::vector<Dim> shape_of(const Fact& fact, Square at) const {
    std::vector<Dim> shape;
    for (int axis = 0; axis < fact.rank(); ++axis) {
      shape.push_back(extent(fact.dim(axis), axis, at));
    }
    return shape;
  }

  /// Emit the wires that an outlet of the body needs, then the outlet itself. A loop, not a
  /// recursion, since bodies may be deep.
  Result<OutletId> emit(OutletId outlet, Square at) {
    std::vector<Key> open{{outlet, at}};
    while (!open.empty()) {
      const Key key = open.back();
      if (done_.contains(key)) {
        open.pop_back();
        continue;
      }
      const size_t before = open.size();
      for (const Key& part : parts_of(key)) {
        if (!done_.contains(part)) open.push_back(part);
      }
      if (open.size() > before) continue;
      RILL_ASSIGN(const OutletId out, emit_new(key.first, key.second));
      done_.insert_or_assign(key, out);
    }
    return done_.at({outlet, at});
  }

  /// Return the wires that must be emitted before a wire, the last one first. A wire that cannot be
  /// emitted has none; `emit_new` refuses it.
  std::vector<Key> parts_of(const Key& key) const {
    const auto& [outlet, at] = key;
    const Node& node = body_.node(outlet.node);
    const Course course = node.op->course();
    const bool own = input_of(outlet) >= 0 || constant_of(*node.op) || course.is(Form::kCounted) ||
                     course.is(Form::kSummed) || (at.distance >= 0 && course.is(Form::kCut));
    if (own) return {};
    const auto inner = squares_of_inputs(body_, node, at, b_.symbol());
    std::vector<Key> out;
    for (size_t k = inner ? inner->size() : 0; k-- > 0;) {
      out.emplace_back(node.inputs[k], (*inner)[k]);
    }
    return out;
  }

  Result<OutletId> emit_new(OutletId outlet, Square at) {
    const Node& node = body_.node(outlet.node);
    if (const int i = input_of(outlet); i >= 0) return emit_input(i, {outlet, at});
    if (const TensorPtr constant = constant_of(*node.op)) return b_.konst(node.name, *constant);
    const Course course = node.op->course();
    if (at.distance >= 0 && (course.is(Form::kCounted) || course.is(Form::kCut))) {
      return emit_distances(course, node, at);
    }
    if (course.is(Form::kCounted)) {
      const auto start = course.begin->to_int();
      if (!start) return b_.refuse("Count from a fixed number", "it counts from ", *course.begin);
      return positions(node.name, *start, course.step, at);
    }
    RILL_ASSIGN(const std::vector<Square> inner, squares(node, at));
    if (cuts_positions(course, at)) {
      RILL_ASSIGN(const OutletId table, emit(node.inputs[0], inner[0]));
      return emit_rows(course, node, table, at);
    }
    if (course.is(Form::kSummed)) return emit_count(course, node, inner[0], at);
    std::vector<OutletId> inputs;
    for (size_t k = 0; k < inner.size(); ++k) {
      RILL_ASSIGN(inputs.emplace_back(), emit(node.inputs[k], inner[k]));
    }
    if (course.is(Form::kShifted)) {
      if (layout_.first.count() > 0) {
        return b_.refuse("Limit attention to a window of frames",
                         "its first keys have no fixed distance from queries that see them");
      }
      return add_shift(b_, node.name, inputs[0], layout_.pulse, layout_.keys);
    }
    if (course.is(Form::kTriangle)) return emit_part(course, node, inputs[0], at);
    OpPtr op = node.op;
    if (node.op->as<ops::Broadcast>()) op = make_op<ops::Broadcast>(shape_of(node.outputs[0], at));
    if (node.op->as<ops::Reshape>()) {
      op = make_op<ops::Reshape>(0, b_.fact(inputs[0]).rank(), shape_of(node.outputs[0], at));
    }
    if (course.is(Form::kNormalised)) {
      const bool over_keys = contains(course.axes, at.column);
      const bool over_queries = contains(course.axes, at.row);
      if (over_queries) {
        return b_.refuse("Normalise over the keys", "it normalises over the queries");
      }
      if (over_keys && of_values_) {
        return b_.refuse("Normalise scores over the keys", "it normalises values over the keys");
      }
      if (over_keys) {
        RILL_ASSIGN(inputs[0], mask_keys(inputs[0], at, false));
        normalised_ = true;
      }
    }
    if (op->with_symbol(b_.symbol(), Dim(1))) {
      return b_.refuse("Use numbers that do not depend on the length of the stream", "node \"",
                       node.name, "\" (", node.op->name(),
                       "), between scores and values, uses the length of the stream");
    }
    RILL_ASSIGN(const auto outlets, b_.add(node.name, std::move(op), inputs));
    return outlets[static_cast<size_t>(outlet.slot)];
  }

  /// Numbers, or rows of a table, one for each distance: the same in every pulse.
  Result<OutletId> emit_distances(const Course& course, const Node& node, Square at) {
    const bool rows = course.is(Form::kCut);
    if (!nearest_ || (rows && course.axis() != at.distance)) {
      return b_.refuse("Take distances from a range or a table", "node \"", node.name, "\" (",
                       node.op->name(), ") does not give the distances of keys from queries");
    }
    // The number, or the row of the table, of distance 0.
    const int64_t step = rows ? 1 : course.step;
    const Dim zero = *course.begin + Dim(step) * *nearest_;
    const auto origin = b_.scope().simplify(zero).to_int();
    if (!origin) {
      return b_.refuse("Count distances from the middle", "node \"", node.name, "\" (",
                       node.op->name(), ") has ", zero,
                       " for the distance 0, which is not a number");
    }
    std::vector<int64_t> values;
    for (int64_t i = 0; i < layout_.distances(); ++i) {
      values.push_back(*origin + step * (layout_.least_distance() + i));
    }
    OutletId table;
    if (rows) {
      RILL_ASSIGN(table, emit(node.inputs[0], Square{}));
      const auto count = b_.fact(table).dim(at.distance).to_int();
      if (!count || *count < 1) return b_.refuse("Use a table of fixed size", "no rows");
      // Distances beyond the table are masked, or the stream is longer than the model supports.
      for (int64_t& value : values) value = std::clamp<int64_t>(value, 0, *count - 1);
    }
    RILL_ASSIGN(Tensor tensor, Tensor::of<int64_t>(DType::kI64, {layout_.distances()}, values));
    RILL_ASSIGN(const OutletId numbers, b_.konst(node.name, std::move(tensor)));
    if (!rows) return b_.add1(node.name, make_op<ops::Cast>(node.outputs[0].dtype), {numbers});
    return b_.add1(node.name, make_op<ops::Gather>(at.distance), {table, numbers});
  }

  /// Emit the rows of a table for the positions of this pulse. Positions beyond the table are
  /// masked, or the stream is longer than the model supports.
  Result<OutletId> emit_rows(const Course& rows, const Node& node, OutletId table, Square at) {
    const int axis = rows.axis();
    const auto begin = rows.begin->to_int();
    const auto count = b_.fact(table).dim(axis).to_int();
    if (!begin || !count || *count < 1) {
      return b_.refuse("Cut the table from a fixed row on", "node \"", node.name,
                       "\" takes rows from ", *rows.begin, " on");
    }
    const Square along = axis == at.row ? Square{0, -1, -1} : Square{-1, 0, -1};
    RILL_ASSIGN(OutletId numbers, positions(node.name, *begin, 1, along));
    for (const auto& [kind, limit] : {std::pair{ops::BinaryKind::kMax, int64_t{0}},
                                      std::pair{ops::BinaryKind::kMin, *count - 1}}) {
      RILL_ASSIGN(Tensor bound, Tensor::of<int64_t>(DType::kI64, {1}, std::vector{limit}));
      RILL_ASSIGN(const OutletId other, b_.konst(node.name, std::move(bound)));
      RILL_ASSIGN(numbers, b_.add1(node.name, make_op<ops::Binary>(kind), {numbers, other}));
    }
    return b_.add1(node.name, make_op<ops::Gather>(axis), {table, numbers});
  }

  Result<OutletId> emit_input(int i, const Key& key) {
    const auto found = inputs_.find(key);
    if (found == inputs_.end()) return b_.wire(i);
    const Input& input = found->second;
    const bool column = input.stream.axis == key.second.column;
    if (!column) {
      return b_.delay(input.wire, input.stream, layout_.query_delay - input.stream.delay, 0);
    }
    ops::Delay kept;
    kept.axis = input.stream.axis;
    kept.delay = layout_.key_delay - input.stream.delay;
    kept.overlap = layout_.keys - layout_.key_pulse;
    kept.reserve = layout_.reserve;
    OutletId passing = input.wire;
    if (kept.delay + kept.overlap + kept.reserve != 0) {
      RILL_ASSIGN(passing, b_.add1("delay", make_op<ops::Delay>(kept), {passing}));
    }
    return layout_.first.keep(b_, input.wire, input.stream, passing);
  }

  ops::PulseRange range(int64_t start, int64_t step, Square at) const {
    ops::PulseRange op;
    op.start = start;
    op.step = step;
    op.frames = at.row >= 0 ? layout_.pulse : layout_.key_pulse;
    op.overlap = at.row >= 0 ? 0 : layout_.keys - layout_.key_pulse;
    op.delay = at.row >= 0 ? layout_.query_delay : layout_.key_delay;
    return op;
  }
  Result<OutletId> positions(std::string_view name, int64_t start, int64_t step, Square at) {
    const ops::PulseRange op = range(start, step, at);
    RILL_ASSIGN(const OutletId out, b_.add1(name, make_op<ops::PulseRange>(op), {}));
    return at.row >= 0 ? out : layout_.first.number(b_, name, op, out);
  }

  /// Positions along one axis of a tensor of that rank.
  Result<OutletId> positions_along(std::string_view name, int axis, int rank, int64_t start,
                                   int64_t step, Square at) {
    const bool row = axis == at.row;
    RILL_ASSIGN(const OutletId flat,
                positions(name, start, step, row ? Square{0, -1, -1} : Square{-1, 0, -1}));
    std::vector<Dim> shape(static_cast<size_t>(rank), Dim(1));
    shape[static_cast<size_t>(axis)] = row ? layout_.pulse : layout_.columns();
    return b_.add1(name, make_op<ops::Reshape>(0, 1, std::move(shape)), {flat});
  }

  /// A running sum of ones counts positions.
  Result<OutletId> emit_count(const Course& sum, const Node& node, Square inner, Square at) {
    const int along = sum.axis();
    RILL_ASSIGN(const OutletId each, emit(node.inputs[0], inner));
    const TensorPtr konst = b_.fact(each).konst;
    const Fact& fact = node.outputs[0];
    bool flat = konst && (along == at.row || along == at.column) && !sum.reverse;
    for (int axis = 0; axis < fact.rank(); ++axis) {
      flat &= axis == along || fact.dim(axis) == Dim(1);
    }
    const auto step = flat ? element_as_int(*konst, 0) : Result<int64_t>(fail(Code::kPulse, ""));
    const auto value = flat ? element_as_double(*konst, 0) : Result<double>(0.0);
    if (!step.ok() || !value.ok() || static_cast<double>(*step) != *value) {
      return b_.refuse("Count positions with a range", "node \"", node.name,
                       "\" sums over the streaming axis between scores and values");
    }
    RILL_ASSIGN(const OutletId count,
                positions_along(node.name, along, fact.rank(), sum.exclusive ? 0 : *step, *step,
                                at));
    return b_.add1(node.name, make_op<ops::Cast>(fact.dtype), {count});
  }

  /// One side of the diagonal, by positions.
  Result<OutletId> emit_part(const Course& part, const Node& node, OutletId x, Square at) {
    const int rank = node.outputs[0].rank();
    if (at.row != rank - 2 || at.column != rank - 1) {
      return b_.refuse("Cut the diagonal over queries and keys", "node \"", node.name,
                       "\" cuts along a diagonal that is not that of queries and keys");
    }
    const auto k = part.begin->to_int();
    if (!k) {
      return b_.refuse("Cut along a diagonal that is a number", "node \"", node.name,
                       "\" cuts along diagonal ", *part.begin);
    }
    RILL_ASSIGN(const OutletId rows, positions_along(node.name, at.row, rank, *k, 1, at));
    RILL_ASSIGN(const OutletId columns, positions_along(node.name, at.column, rank, 0, 1, at));
    RILL_ASSIGN(
        const OutletId kept,
        b_.add1(node.name,
                make_op<ops::Binary>(part.upper ? ops::BinaryKind::kGe : ops::BinaryKind::kLe),
                {columns, rows}));
    RILL_ASSIGN(Tensor zero, Tensor::zeros(node.outputs[0].dtype,
                                           std::vector<int64_t>(static_cast<size_t>(rank), 1)));
    RILL_ASSIGN(const OutletId none, b_.konst(node.name, std::move(zero)));
    return b_.add1(node.name, make_op<ops::Select>(), {kept, x, none});
  }

  Result<OutletId> mask_keys(OutletId scores, Square at, bool weights) {
    ops::PulseKeyMask op;
    op.axis = at.column;
    op.pulse = layout_.key_pulse;
    op.delay = layout_.key_delay;
    op.length = layout_.length;
    op.weights = weights;
    return layout_.first.hide(b_, scores, op, range(0, 1, Square{-1, 0, -1}));
  }

  struct Input {
    OutletId wire;
    StreamFact stream;
  };

  PulseBuilder& b_;
  const Attention& op_;
  const Graph& body_;
  OutletId values_;
  bool normalised_ = false;  ///< over the keys
  bool of_values_ = false;   ///< the emitted wires are values, not weights
  int64_t ready_ = 0;        ///< the first pulse at which all static inputs are valid
  Layout layout_;
  bool behind_ = false;         ///< a shift has no distances of keys after a query
  std::optional<Dim> nearest_;  ///< the index of distance 0 among those of the whole run
  std::map<Key, int> asked_;
  std::map<Key, Input> inputs_;
  std::map<Key, OutletId> done_;
};

}  // namespace

Status Attention::pulsify(PulseBuilder& b) const { return Streamed(b, *this).run(); }

}  // namespace rill::pulse
