#include "pulse/before/frames_first.h"

#include <map>
#include <numeric>
#include <optional>

#include "core/base/search.h"
#include "core/graph/course.h"
#include "core/graph/graph_copy.h"
#include "core/graph/walk.h"
#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "ops/array/groups.h"
#include "ops/array/reshape.h"
#include "core/positions/square.h"

namespace rill::pulse {
namespace {

using Dims = std::vector<Dim>;

/// The order of rows along an axis: [before, frames, inner] in a whole run, [frames, before, inner]
/// in the copy's wire.
struct Rows {
  int axis = 0;
  Dim before = 1;  ///< the batch, a constant
  Dim frames = 1;
};

/// A wire of the copy with its rows in another order than in the original.
struct Reordered {
  OutletId wire;
  Rows rows;
};

/// Return the number of rows of one frame and one batch entry along an extent; nothing if it is not
/// a whole number.
std::optional<Dim> inner_of(const Dim& extent, const Rows& rows) {
  const auto inner = exact_div(extent, rows.before * rows.frames);
  return inner && inner->to_int().value_or(0) >= 1 ? inner : std::nullopt;
}

/// Return the streaming axis among [begin, end), if all other axes have fixed extents >= 1, and all
/// axes before it have extent 1.
std::optional<int> leading_axis(const Dims& shape, int begin, int end, std::string_view symbol) {
  std::optional<int> found;
  for (int axis = begin; axis < end; ++axis) {
    const Dim& extent = shape[static_cast<size_t>(axis)];
    const auto number = extent.to_int();
    if (number ? *number < 1 || (*number > 1 && !found) : found || !extent.mentions(symbol)) {
      return std::nullopt;
    }
    if (!number) found = axis;
  }
  return found;
}

/// Return the rows of a reshape that merges a batch with the frames after it; nothing for others.
std::optional<Rows> rows_of_merge(const Fact& in, const Fact& out, std::string_view symbol) {
  for (const ops::AxisGroup& group : ops::axis_groups(in.shape, out.shape)) {
    Rows rows;
    int stream = group.from_begin;
    while (stream < group.from_end && in.dim(stream).is_const()) rows.before *= in.dim(stream++);
    if (rows.before.to_int().value_or(0) < 2) continue;
    if (!leading_axis(in.shape, stream, group.from_end, symbol)) continue;
    // If a part of the batch keeps a separate axis, that axis stays first.
    Dim kept = 1;
    rows.axis = group.to_begin;
    while (rows.axis < group.to_end && out.dim(rows.axis).is_const()) kept *= out.dim(rows.axis++);
    const auto merged = exact_div(rows.before, kept);
    if (!merged || merged->to_int().value_or(0) < 2) continue;
    if (!leading_axis(out.shape, rows.axis, group.to_end, symbol)) continue;
    rows.before = *merged;
    rows.frames = in.dim(stream);
    const Dim& extent = out.dim(rows.axis);
    if (inner_of(extent, rows)) return rows;
    // Each row has several frames.
    const auto frames = exact_div(extent, rows.before);
    if (!frames || !frames->mentions(symbol)) continue;
    rows.frames = *frames;
    return rows;
  }
  return std::nullopt;
}

/// Return the shape with batch and frames on separate axes, in this order or the other.
Dims split_shape(const Fact& fact, const Rows& rows, bool frames_first) {
  const auto at = fact.shape.begin() + rows.axis;
  Dims shape(fact.shape.begin(), at);
  shape.push_back(frames_first ? rows.frames : rows.before);
  shape.push_back(frames_first ? rows.before : rows.frames);
  if (const Dim inner = *inner_of(*at, rows); !(inner == Dim(1))) shape.push_back(inner);
  shape.insert(shape.end(), at + 1, fact.shape.end());
  return shape;
}

bool is_reshape(const Node& node) { return node.op->as<ops::Reshape>() != nullptr; }

class FramesFirst final : public GraphCopy {
 public:
  FramesFirst(const Graph& graph, std::string_view symbol) : GraphCopy(graph), symbol_(symbol) {}

 private:
  Status copy(int id) override {
    const Node& node = graph_.node(id);
    if (is_reshape(node)) return copy_reshape(id);
    RILL_ASSIGN(const bool passed, pass(id));
    if (passed) return {};
    std::vector<OutletId> inputs;
    if (const auto found = reordered_.find(node.inputs.empty() ? OutletId{} : node.inputs[0]);
        found != reordered_.end() && combines(*node.op, found->second.rows.axis)) {
      return append(id, node.op, {found->second.wire});
    }
    for (const OutletId& input : node.inputs) {
      RILL_ASSIGN(inputs.emplace_back(), in_order(input, node));
    }
    return append(id, node.op, inputs);
  }

  Status copy_reshape(int id) {
    const Node& node = graph_.node(id);
    const OutletId input = node.inputs[0];
    const Fact& out = node.outputs[0];
    OutletId wire;
    if (const auto moved = reordered_.find(input); moved != reordered_.end()) {
      if (const auto rows = rows_after(moved->second.rows, graph_.fact(input), out)) {
        return reorder(id, moved->second.wire, *rows);
      }
      RILL_ASSIGN(wire, unmerged_of(input));
    } else {
      wire = mapped_.at(input);
    }
    const auto rows = rows_of_merge(out_.fact(wire), out, symbol_);
    if (!rows || is_positional(graph_, input)) {
      return append(id, reshape_to(wire, out.shape), {wire});
    }
    RILL_ASSIGN(wire, reshaped(node, wire, split_shape(out, *rows, false)));
    RILL_ASSIGN(wire, swapped(node, wire, rows->axis));
    return reorder(id, wire, *rows);
  }

  /// Return a wire in another shape, or the wire itself if it has that shape.
  Result<OutletId> reshaped(const Node& node, OutletId wire, Dims shape) {
    if (out_.fact(wire).shape == shape) return wire;
    RILL_ASSIGN(const auto out,
                out_.add(str_cat(node.name, "_apart"), reshape_to(wire, shape), {wire}, node.line));
    return out[0];
  }

  /// Return a wire with an axis and the next one swapped.
  Result<OutletId> swapped(const Node& node, OutletId wire, int axis) {
    std::vector<int64_t> order(static_cast<size_t>(out_.fact(wire).rank()));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[static_cast<size_t>(axis)], order[static_cast<size_t>(axis) + 1]);
    auto swap = draft_op<ops::Transpose>(std::move(order));
    RILL_ASSIGN(const auto out,
                out_.add(str_cat(node.name, "_turned"), std::move(swap), {wire}, node.line));
    return out[0];
  }

  /// Return the rows after a reshape that neither splits them nor merges a preceding axis into
  /// them.
  std::optional<Rows> rows_after(const Rows& rows, const Fact& in, const Fact& out) const {
    for (const ops::AxisGroup& group : ops::axis_groups(in.shape, out.shape)) {
      if (rows.axis < group.from_begin || rows.axis >= group.from_end) continue;
      const auto from = leading_axis(in.shape, group.from_begin, group.from_end, symbol_);
      const auto to = leading_axis(out.shape, group.to_begin, group.to_end, symbol_);
      if (from != rows.axis || !to || !inner_of(out.dim(*to), rows)) return std::nullopt;
      return Rows{*to, rows.before, rows.frames};
    }
    return std::nullopt;
  }

  Status reorder(int id, OutletId input, const Rows& rows) {
    const Node& node = graph_.node(id);
    RILL_ASSIGN(const auto outlets,
                out_.add(node.name, reshape_to(input, node.outputs[0].shape), {input}, node.line));
    reordered_[{id, 0}] = {outlets[0], rows};
    return {};
  }

  /// Let a node work on reordered rows, if it treats all rows alike.
  Result<bool> pass(int id) {
    const Node& node = graph_.node(id);
    Facts in;
    std::vector<OutletId> inputs;
    const Rows* rows = nullptr;
    for (const OutletId& input : node.inputs) {
      in.push_back(graph_.fact(input));
      const auto found = reordered_.find(input);
      if (found == reordered_.end()) {
        inputs.push_back(mapped_.at(input));
        continue;
      }
      const Rows& own = found->second.rows;
      if (rows && !(rows->before == own.before && rows->frames == own.frames)) return false;
      rows = &own;
      inputs.push_back(found->second.wire);
    }
    if (!rows) return false;
    const auto tracks = node.op->axes(in, node.outputs);
    const auto track = find_if(tracks, [&](const AxisTrack& each) { return carries(node, each); });
    if (track == tracks.end()) return false;
    RILL_ASSIGN(const auto outlets, out_.add(node.name, node.op, inputs, node.line));
    for (size_t slot = 0; slot < outlets.size(); ++slot) {
      reordered_[{id, static_cast<int>(slot)}] = {outlets[slot],
                                                  {track->out[slot], rows->before, rows->frames}};
    }
    return true;
  }

  /// Return whether an operator combines all rows into one number, in any order.
  static bool combines(const Op& op, int axis) {
    const Course course = op.course();
    return course.is(Course::Form::kReduced) && course.function != Course::Function::kPlace &&
           contains(course.axes, axis);
  }

  /// Return whether a node keeps the rows of all its inputs and treats them alike.
  bool carries(const Node& node, const AxisTrack& track) const {
    Dim extent = 1;
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const OutletId input = node.inputs[k];
      const int axis = track.in[k];
      const auto found = reordered_.find(input);
      if (found == reordered_.end()) {
        if (axis >= 0 && !ops::is_repeated(graph_, input, axis)) return false;
        continue;
      }
      if (axis != found->second.rows.axis) return false;
      extent = graph_.fact(input).dim(axis);
    }
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      const int axis = track.out[slot];
      if (axis < 0 || !(node.outputs[slot].dim(axis) == extent)) return false;
    }
    return true;
  }

  /// Return a reordered wire with batch and frames on separate axes, in the original order.
  Result<OutletId> unmerged_of(OutletId outlet) {
    if (const auto known = unmerged_.find(outlet); known != unmerged_.end()) return known->second;
    const auto& [wire, rows] = reordered_.at(outlet);
    const Node& node = graph_.node(outlet.node);
    RILL_ASSIGN(const OutletId split,
                reshaped(node, wire, split_shape(graph_.fact(outlet), rows, true)));
    RILL_ASSIGN(const OutletId out, swapped(node, split, rows.axis));
    return unmerged_[outlet] = out;
  }

  Result<OutletId> whole(OutletId outlet) override {
    return in_order(outlet, graph_.node(outlet.node));
  }

  /// Return a wire with its rows in the original order, named after its reader. Errors: if
  /// streaming rows cannot be reordered.
  Result<OutletId> in_order(OutletId outlet, const Node& asking) {
    if (mapped_.contains(outlet)) return mapped_.at(outlet);
    RILL_ASSIGN(const OutletId unmerged, unmerged_of(outlet));
    auto merge = reshape_to(unmerged, graph_.fact(outlet).shape);
    RILL_ASSIGN(const auto out,
                out_.add(str_cat(asking.name, "_rows"), std::move(merge), {unmerged}, asking.line));
    return mapped_[outlet] = out[0];
  }

  OpPtr reshape_to(OutletId from, Dims shape) const {
    return make_op<ops::Reshape>(0, out_.fact(from).rank(), std::move(shape));
  }

  std::string_view symbol_;
  std::map<OutletId, Reordered> reordered_;
  std::map<OutletId, OutletId> unmerged_;
};

}  // namespace

Result<Graph> put_frames_first(Graph graph, std::string_view symbol) {
  const bool merges = any_of(graph.nodes, [&](const Node& node) {
    return is_reshape(node) &&
           rows_of_merge(graph.fact(node.inputs[0]), node.outputs[0], symbol).has_value();
  });
  if (!merges) return graph;
  return FramesFirst(graph, symbol).run();
}

}  // namespace rill::pulse
