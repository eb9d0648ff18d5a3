// Moves slices upstream: if a value is only read through a slice, only the sliced part is computed.
// A strided slice of a range of positions becomes a range with a larger step.

#include <algorithm>
#include <functional>

#include "core/base/checked.h"
#include "core/base/search.h"
#include "core/graph/rewrite.h"
#include "core/graph/walk.h"
#include "ops/array/broadcast.h"
#include "ops/array/pad.h"
#include "ops/array/range.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"
#include "ops/array/spread.h"
#include "ops/built.h"

namespace rill::ops {
namespace {

/// Return the track that has `axis` on the only output of an op; null if there is none.
const AxisTrack* track_of(const std::vector<AxisTrack>& tracks, int axis, size_t inputs) {
  for (const AxisTrack& track : tracks) {
    if (track.out.size() == 1 && track.out[0] == axis && track.in.size() == inputs) return &track;
  }
  return nullptr;
}

/// Return the same op for an output with `extent` on `axis`.
OpPtr resized(const OpPtr& op, int axis, const Dim& extent) {
  if (const auto* reshape = op->as<Reshape>()) {
    std::shared_ptr<Op> smaller = op->clone();
    const int64_t i = axis - reshape->axis;
    if (i >= 0 && i < static_cast<int64_t>(reshape->to.size())) {
      static_cast<Reshape*>(smaller.get())->to[static_cast<size_t>(i)] = extent;
    }
    return smaller;
  }
  if (const auto* broadcast = op->as<Broadcast>()) {
    auto smaller = draft_op<Broadcast>(*broadcast);
    smaller->shape[static_cast<size_t>(axis)] = extent;
    return smaller;
  }
  return op;
}

bool keeps_nothing_between_calls(const Node& node, FactSpan in) {
  if (node.op->nested() || node.op->state_bytes(in) > 0) return false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.op->history(static_cast<int>(i))) return false;
  }
  return node.op->tolerance() != Tolerance::kRandom;
}

/// Return whether a slice may move upstream of another slice along a different axis. The slice that
/// keeps the smaller part goes first; two that keep equal parts stay in order.
bool may_pass(const Slice& slice, const Node& producer, const Fact& made, const Fact& read) {
  const auto* other = producer.op->as<Slice>();
  if (!other) return true;
  const auto part = [](const Slice& of, const Fact& whole) {
    const auto kept = (of.end - of.begin).to_int();
    const auto all = whole.dim(static_cast<int>(of.axis)).to_int();
    return kept && all && *all > 0 ? static_cast<double>(*kept) / static_cast<double>(*all) : 1.0;
  };
  return part(slice, made) < part(*other, read);
}

/// Select frames of the producer's inputs instead of its output, along a tracked axis: `kept` of
/// `whole` frames remain.
Status pick_upstream(Rewrite& rewrite, int axis, const Dim& whole, const Dim& kept,
                     const std::function<OpPtr(int axis)>& pick) {
  const Node& producer = rewrite.producer(0);
  Facts in = rewrite.old_graph().facts_of(producer.inputs);
  const auto tracks = producer.op->axes(in, producer.outputs);
  const AxisTrack* track = track_of(tracks, axis, in.size());
  if (!track) return {};
  for (size_t i = 0; i < in.size(); ++i) {
    if (track->in[i] < 0) continue;
    Dim& extent = in[i].shape[static_cast<size_t>(track->in[i])];
    if (extent == whole) {
      extent = kept;
      in[i] = in[i].without_value();
    } else if (!(extent == Dim(1))) {
      return {};
    }
  }
  const OpPtr op = resized(producer.op, axis, kept);
  const auto made_now = op->infer(in);
  if (!made_now.ok() || !((*made_now)[0].shape == rewrite.out().shape)) return {};
  std::vector<OutletId> inputs;
  for (size_t i = 0; i < in.size(); ++i) {
    OutletId input = rewrite.mapped(producer.inputs[i]);
    const int at = track->in[i];
    if (at >= 0 && rewrite.new_fact(input).dim(at) == whole) {
      RILL_ASSIGN(input, rewrite.wire1(str_cat(rewrite.node().name, "_", i), pick(at), {input}));
    }
    inputs.push_back(input);
  }
  return rewrite.replace_by(op, inputs, producer.name);
}

/// Return whether the input has no other reader, so that its frames may be selected upstream.
bool may_pick(const Rewrite& rewrite) {
  const Node& producer = rewrite.producer(0);
  return rewrite.uses(rewrite.input(0)) == 1 && producer.outputs.size() == 1 &&
         !producer.inputs.empty() &&
         keeps_nothing_between_calls(producer, rewrite.old_graph().facts_of(producer.inputs));
}

}  // namespace

/// Slice the producer's inputs instead of its output if that at least halves the work. A smaller
/// gain would not outweigh the lost fusion with the producer.
Status Slice::fuse(Rewrite& rewrite) const {
  const Node& producer = rewrite.producer(0);
  const auto from = begin.to_int();
  const auto to = end.to_int();
  const auto whole = rewrite.in(0).dim(static_cast<int>(axis)).to_int();
  if (!from || !to || !whole || 2 * (*to - *from) > *whole || !may_pick(rewrite)) return {};
  if (!may_pass(*this, producer, rewrite.in(0), rewrite.old_graph().fact(producer.inputs[0])))
    return {};
  return pick_upstream(rewrite, static_cast<int>(axis), Dim(*whole), Dim(*to - *from), [&](int at) {
    auto slice = draft_op<Slice>(*this);
    slice->axis = at;
    return slice;
  });
}

/// Drop padding that the slice cuts off.
Status Slice::take_from_padding(Rewrite& rewrite) const {
  const auto* pad = rewrite.producer_as<Pad>(0);
  if (!pad) return {};
  const auto first = begin.to_int();
  const auto left = (rewrite.in(0).dim(static_cast<int>(axis)) - end).to_int();
  if (!first || !left) return {};
  const auto on = static_cast<size_t>(axis);
  const auto [before, after] = pad->pads[on];
  const int64_t less_before = std::min(before, std::max<int64_t>(0, *first));
  const int64_t less_after = std::min(after, std::max<int64_t>(0, *left));
  if (less_before == 0 && less_after == 0) return {};
  Pads pads = pad->pads;
  pads[on] = {before - less_before, after - less_after};
  auto slice = draft_op<Slice>(*this);
  slice->begin = begin - Dim(less_before);
  slice->end = end - Dim(less_before);
  const OutletId x = rewrite.mapped(rewrite.producer(0).inputs[0]);
  const auto pads_nothing = [](const std::pair<int64_t, int64_t>& each) {
    return each.first == 0 && each.second == 0;
  };
  if (all_of(pads, pads_nothing)) return rewrite.replace_by(std::move(slice), {x});
  // Other readers keep the padding: padding twice would take time.
  if (rewrite.uses(rewrite.input(0)) != 1) return {};
  if constexpr (built("pad")) {
    RILL_ASSIGN(const OutletId padded,
                rewrite.wire1(rewrite.producer(0).name,
                              make_op<Pad>(std::move(pads), pad->mode, pad->value), {x}));
    return rewrite.replace_by(std::move(slice), {padded});
  }
  return {};
}

/// Count positions in larger steps from the first one: results computed from them are then an
/// ordinary table of positions.
Status Downsample::declutter(Rewrite& rewrite) const {
  if (stride == 1 && modulo == 0) return rewrite.bypass(rewrite.input(0));
  RILL_TRY(spread_constant(rewrite));
  if (rewrite.replacement()) return {};
  if constexpr (!built("range")) return {};
  if (stride < 0 || !is_positional(rewrite.old_graph(), rewrite.input(0))) return {};
  if (const auto* range = rewrite.producer_as<Range>(0)) {
    const auto step = checked_mul(range->step, stride);
    const auto skipped = checked_mul(range->step, modulo);
    if (!step || !skipped) return {};
    auto fewer = draft_op<Range>(*range);
    fewer->start = range->start + Dim(*skipped);
    fewer->step = *step;
    const auto made = fewer->infer({});
    if (!made.ok() || !((*made)[0].shape == rewrite.out().shape)) return {};
    return rewrite.replace_by(std::move(fewer), {});
  }
  // Two slices of different axes would swap without end, so the inner slice goes first.
  if (rewrite.producer_as<Downsample>(0) || !may_pick(rewrite)) return {};
  const int on = static_cast<int>(axis);
  return pick_upstream(rewrite, on, rewrite.in(0).dim(on), rewrite.out().dim(on),
                       [&](int at) { return make_op<Downsample>(at, stride, modulo); });
}

}  // namespace rill::ops
