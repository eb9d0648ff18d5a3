#include "pulse/before/front_wires.h"

#include <algorithm>
#include <memory>

#include "core/graph/walk.h"
#include "core/tensor/uniform.h"
#include "ops/array/broadcast.h"
#include "ops/array/common.h"
#include "ops/array/pad.h"
#include "ops/array/range.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"
#include "ops/array/trilu.h"
#include "ops/math/binary.h"
#include "ops/math/select.h"

namespace rill::pulse {
namespace {

using Form = Course::Form;

/// The maximum number of prepended elements. Prompts have tens of keys, and each key that differs
/// from its neighbour costs a select.
constexpr int64_t kMostFrontWires = 4096;
/// The maximum depth to which operators are followed upstream.
constexpr int kMostDepth = 48;

}  // namespace

Result<FrontWires::Wire> FrontWires::joined(const Node& join, const Join& of) {
  int64_t count = 0;
  for (const auto& [part, extent] : of.parts) count += extent;
  if (count < 1 || count > kMostFrontWires) return Wire();
  RILL_ASSIGN(const Wire rest, moved({of.rest, of.axis, count}, 0));
  if (!rest) return Wire();
  std::vector<OutletId> elements;
  for (const auto& [part, extent] : of.parts) {
    for (int64_t at = 0; at < extent; ++at) {
      RILL_ASSIGN(const Wire element, element_of(join, part, of.axis, at, 0));
      if (!element) return Wire();
      elements.push_back(*element);
    }
  }
  const Fact fact = graph_.fact(*rest);
  auto range = make_op<ops::Range>(Dim(0), fact.dim(of.axis), 1);
  RILL_ASSIGN(const OutletId counted, add(join, std::move(range), {}));
  std::vector<Dim> shape(fact.shape.size(), Dim(1));
  shape[static_cast<size_t>(of.axis)] = fact.dim(of.axis);
  auto laid = make_op<ops::Reshape>(0, 1, std::move(shape));
  RILL_ASSIGN(const OutletId places, add(join, std::move(laid), {counted}));
  RILL_ASSIGN(const OutletId first, choice(join, places, elements, 0, count));
  RILL_ASSIGN(const OutletId out, chosen(join, places, count, first, *rest));
  return Wire(out);
}

Result<FrontWires::Wire> FrontWires::below(const Node& join, const Join& of, int depth) {
  const Node mask = graph_.node(of.rest.node);
  Wire out;
  if (depth < kMostDepth) {
    RILL_ASSIGN(out, below_mask(join, of, mask, depth));
  }
  return out ? out : joined(join, of);
}

/// If a node masks scores by position, join the parts upstream of it, and extend the mask to show
/// them. Nothing for other nodes.
Result<FrontWires::Wire> FrontWires::below_mask(const Node& join, const Join& of, const Node& mask,
                                                int depth) {
  const Course course = mask.op->course();
  const bool chooses = course.is(Course::Function::kChoice);
  if (!chooses && !course.is(Course::Function::kAdd)) return Wire();
  const auto number_at = [&](size_t k) {
    return uniform_number(graph_.fact(mask.inputs[k]).konst);
  };
  size_t scores = 0;
  size_t shown = 0;
  if (chooses) {
    if (!number_at(1) && !number_at(2)) return Wire();
    scores = number_at(1) ? 2 : 1;
  } else {
    shown = is_positional(graph_, mask.inputs[0]) ? 0 : 1;
    scores = 1 - shown;
  }
  const Fact fact = graph_.fact(mask.inputs[shown]);
  const bool full = graph_.fact(mask.inputs[scores]).dim(of.axis).mentions(symbol_) &&
                    fact.dim(of.axis).mentions(symbol_);
  if (!full || !is_positional(graph_, mask.inputs[shown])) return Wire();
  int64_t count = 0;
  for (const auto& [part, extent] : of.parts) count += extent;
  // A bias of 0 and a condition that chooses the scores leave them unchanged.
  const std::vector<int64_t> ones(fact.shape.size(), 1);
  RILL_ASSIGN(Tensor show, cast(Tensor::scalar(chooses && scores == 1 ? 1.0F : 0.0F), fact.dtype));
  RILL_ASSIGN(show, show.reshaped(ones));
  const OutletId neutral = konst(join, std::move(show));
  std::vector<OutletId> inputs = mask.inputs;
  RILL_ASSIGN(const Wire wider, joined(join, {of.axis, {{neutral, count}}, inputs[shown]}));
  if (!wider) return Wire();
  RILL_ASSIGN(const Wire inner, below(join, {of.axis, of.parts, inputs[scores]}, depth + 1));
  if (!inner) return Wire();
  inputs[shown] = *wider;
  inputs[scores] = *inner;
  return appended(mask, mask.op, inputs);
}

/// Select among the elements [begin, end) by position: a binary tree of selects.
Result<OutletId> FrontWires::choice(const Node& node, OutletId places,
                                    const std::vector<OutletId>& elements, int64_t begin,
                                    int64_t end) {
  const OutletId first = elements[static_cast<size_t>(begin)];
  int64_t alike = begin + 1;
  while (alike < end && elements[static_cast<size_t>(alike)] == first) ++alike;
  if (alike == end) return first;
  const int64_t middle = begin + (end - begin) / 2;
  RILL_ASSIGN(const OutletId before, choice(node, places, elements, begin, middle));
  RILL_ASSIGN(const OutletId after, choice(node, places, elements, middle, end));
  return chosen(node, places, middle, before, after);
}

Result<OutletId> FrontWires::chosen(const Node& node, OutletId places, int64_t limit,
                                    OutletId before, OutletId after) {
  if (before == after) return before;
  const std::vector<int64_t> ones(static_cast<size_t>(graph_.fact(places).rank()), 1);
  RILL_ASSIGN(Tensor number, Tensor::of<int64_t>(DType::kI64, ones, std::vector{limit}));
  const OutletId with = konst(node, std::move(number));
  auto less = make_op<ops::Binary>(ops::BinaryKind::kLt);
  RILL_ASSIGN(const OutletId is_before, add(node, std::move(less), {places, with}));
  return add(node, make_op<ops::Select>(), {is_before, before, after});
}

Result<FrontWires::Wire> FrontWires::moved(const Move& move, int depth) {
  const auto known = moved_.find(move);
  if (known != moved_.end()) return known->second;
  // Copies, because appending a node may move all others in memory.
  const Fact fact = graph_.fact(move.wire);
  const Node node = graph_.node(move.wire.node);
  Wire out;
  if (fact.dim(move.axis) == Dim(1)) {
    out = move.wire;
  } else if (depth < kMostDepth && node.outputs.size() == 1) {
    if (frames_) {
      RILL_ASSIGN(out, after_zeros(move.wire, move.axis, move.by));
    }
    if (!out) {
      RILL_ASSIGN(out, moved_node(node, move, depth));
    }
  }
  // An operator with the old extent in an attribute keeps that extent, so the wire is not moved.
  const Dim& extent = fact.dim(move.axis);
  const Dim moved_extent = extent == Dim(1) ? extent : extent + Dim(move.by);
  if (out && !(graph_.fact(*out).dim(move.axis) == moved_extent)) out.reset();
  moved_.emplace(move, out);
  return out;
}

Result<FrontWires::Wire> FrontWires::after_zeros(OutletId wire, int on, int64_t by) {
  const Fact fact = graph_.fact(wire);
  const Node node = graph_.node(wire.node);
  if (!is_float(fact.dtype) || is_positional(graph_, wire)) return Wire();
  for (int axis = 0; axis < fact.rank(); ++axis) {
    if (fact.dim(axis).mentions(symbol_) != (axis == on)) return Wire();
  }
  RILL_ASSIGN(Tensor zero, Tensor::zeros(fact.dtype, {}));
  Pads pads(fact.shape.size(), {0, 0});
  pads[static_cast<size_t>(on)].first = by;
  auto pad = make_op<ops::Pad>(std::move(pads), "constant",
                               std::make_shared<const Tensor>(std::move(zero)));
  return appended(node, std::move(pad), {wire});
}

Result<FrontWires::Wire> FrontWires::moved_node(const Node& node, const Move& move, int depth) {
  const Dim by(move.by);
  const Course course = node.op->course();
  const Fact& fact = node.outputs[0];
  if (course.is(Form::kCounted)) {
    const Dim step(course.step);
    const Dim end = *course.begin + step * fact.dim(0);
    return appended(node, make_op<ops::Range>(*course.begin - step * by, end, course.step), {});
  }
  if (course.is(Form::kCut) && course.axis() == move.axis) {
    return moved_slice(node, course, move.by);
  }
  if (course.is(Form::kTriangle)) {
    auto shifted = draft_op<ops::Trilu>();
    shifted->upper = course.upper;
    shifted->k = *course.begin;
    if (move.axis == fact.rank() - 1) shifted->k += by;
    if (move.axis == fact.rank() - 2) shifted->k += -by;
    RILL_ASSIGN(const Wire in, moved({node.inputs[0], move.axis, move.by}, depth + 1));
    return in ? appended(node, std::move(shifted), {*in}) : Wire();
  }
  OpPtr op = node.op;
  if (ops::repeated_wire(graph_, move.wire)) {
    std::vector<Dim> shape = fact.shape;
    shape[static_cast<size_t>(move.axis)] += by;
    op = make_op<ops::Broadcast>(std::move(shape));
  } else if (!follows(course)) {
    return Wire();
  }
  return over_inputs(node, std::move(op), move.axis, [&](OutletId wire, int axis) {
    return moved({wire, axis, move.by}, depth + 1);
  });
}

/// Return a slice that begins `by` elements earlier; nothing if the slice begins before `by`.
FrontWires::Wire FrontWires::moved_slice(const Node& node, const Course& slice, int64_t by) {
  const auto begin = slice.begin->to_int();
  if (!begin || *begin < by) return std::nullopt;
  if (*begin == by && *slice.end == graph_.fact(node.inputs[0]).dim(slice.axis())) {
    return node.inputs[0];
  }
  return appended(node, make_op<ops::Slice>(slice.axis(), Dim(*begin - by), *slice.end),
                  node.inputs);
}

/// Return whether, along the axes of `Op::axes`, each element of a node depends only on the
/// elements of the inputs at the same index, and not on the index itself.
bool FrontWires::follows(const Course& course) const {
  return course.is(Form::kMoved) || course.is(Form::kPerElement) ||
         (frames_ && course.is(Form::kProducts));
}

/// Return one element along an axis, with extent 1 there. Equal elements are one wire.
Result<FrontWires::Wire> FrontWires::element_of(const Node& join, OutletId wire, int axis,
                                                int64_t at, int depth) {
  const Fact fact = graph_.fact(wire);
  if (fact.dim(axis) == Dim(1)) return Wire(wire);
  if (ops::is_repeated(graph_, wire, axis)) at = 0;
  const auto key = std::tuple(wire, axis, at);
  const auto known = elements_.find(key);
  if (known != elements_.end()) return known->second;
  const TensorPtr value = constant_of(*graph_.node(wire.node).op);
  Wire out;
  if (value) {
    RILL_ASSIGN(Tensor one, ops::frame_at(*value, axis, at));
    out = constant_like(join, std::move(one));
  } else if (depth < kMostDepth && graph_.node(wire.node).outputs.size() == 1) {
    RILL_ASSIGN(out, element_of_node(join, wire, axis, at, depth));
    if (out && !(graph_.fact(*out).dim(axis) == Dim(1))) out.reset();
  }
  elements_.emplace(key, out);
  return out;
}

Result<FrontWires::Wire> FrontWires::element_of_node(const Node& join, OutletId wire, int axis,
                                                     int64_t at, int depth) {
  const Node node = graph_.node(wire.node);
  const Course course = node.op->course();
  if (course.is(Form::kCounted)) {
    const auto start = course.begin->to_int();
    if (!start) return Wire();
    const std::vector number{*start + at * course.step};
    RILL_ASSIGN(Tensor one, Tensor::of<int64_t>(DType::kI64, {1}, number));
    return Wire(constant_like(join, std::move(one)));
  }
  OpPtr op = node.op;
  if (ops::repeated_wire(graph_, wire)) {
    std::vector<Dim> shape = node.outputs[0].shape;
    shape[static_cast<size_t>(axis)] = Dim(1);
    op = make_op<ops::Broadcast>(std::move(shape));
  } else if (!follows(course)) {
    return Wire();
  }
  return over_inputs(node, std::move(op), axis, [&](OutletId input, int from) {
    return element_of(join, input, from, at, depth + 1);
  });
}

/// Append an operator whose inputs change along the axis from which `axis` of its output comes.
template <class Change>
Result<FrontWires::Wire> FrontWires::over_inputs(const Node& node, OpPtr op, int axis,
                                                 const Change& change) {
  const Facts in = graph_.facts_of(node.inputs);
  std::vector<OutletId> inputs = node.inputs;
  for (const AxisTrack& track : node.op->axes(in, node.outputs)) {
    if (track.out[0] != axis) continue;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (track.in[i] < 0) continue;
      RILL_ASSIGN(const Wire changed, change(inputs[i], track.in[i]));
      if (!changed) return Wire();
      inputs[i] = *changed;
    }
  }
  return appended(node, std::move(op), inputs);
}

/// Append a node; nothing if its operator refuses the inputs.
FrontWires::Wire FrontWires::appended(const Node& node, OpPtr op,
                                      const std::vector<OutletId>& inputs) {
  auto out = graph_.add(node.name, std::move(op), inputs, node.line);
  return out.ok() ? Wire((*out)[0]) : Wire();
}

Result<OutletId> FrontWires::add(const Node& node, OpPtr op, const std::vector<OutletId>& inputs) {
  RILL_ASSIGN(const auto out, graph_.add(node.name, std::move(op), inputs, node.line));
  return out[0];
}

OutletId FrontWires::konst(const Node& node, Tensor value) {
  return graph_.add_const(node.name, std::make_shared<const Tensor>(std::move(value)), node.line);
}

/// Return a constant, the same wire for the same bits.
OutletId FrontWires::constant_like(const Node& node, Tensor value) {
  for (const auto& [known, wire] : constants_) {
    if (known->dtype() == value.dtype() && known->shape() == value.shape() &&
        known->same_bits(value)) {
      return wire;
    }
  }
  const auto shared = std::make_shared<const Tensor>(std::move(value));
  const OutletId wire = graph_.add_const(node.name, shared, node.line);
  constants_.emplace_back(shared, wire);
  return wire;
}

}  // namespace rill::pulse
