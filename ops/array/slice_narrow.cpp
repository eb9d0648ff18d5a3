// Of a value that is sliced and read nowhere else, only what the slice keeps is computed.

#include <algorithm>

#include "core/graph/rewrite.h"
#include "ops/array/broadcast.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"

namespace rill::ops {
namespace {

/// The track that has `axis` on the only output of an op whose frames are independent, or null.
const AxisTrack* track_of(const std::vector<AxisTrack>& tracks, int axis, size_t inputs) {
  for (const AxisTrack& track : tracks) {
    if (track.out.size() == 1 && track.out[0] == axis && track.in.size() == inputs) return &track;
  }
  return nullptr;
}

/// The same op, for an output that has `extent` on `axis`.
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
    auto smaller = std::make_shared<Broadcast>(*broadcast);
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

/// Of two slices of different axes, the one that keeps less goes first; which of two that keep the same
/// part goes first does not matter, as long as they stay where they are.
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

}  // namespace

/// Slice what the producer reads instead of what it makes, where that halves the work at least:
/// less would not pay for what can no longer be fused with the producer.
Status Slice::fuse(Rewrite& rewrite) const {
  const OutletId made = rewrite.input(0);
  const Node& producer = rewrite.producer(0);
  const auto from = begin.to_int();
  const auto to = end.to_int();
  const auto whole = rewrite.in(0).dim(static_cast<int>(axis)).to_int();
  if (!from || !to || !whole || 2 * (*to - *from) > *whole) return {};
  if (rewrite.uses(made) != 1 || producer.outputs.size() != 1 || producer.inputs.empty()) return {};
  Facts in = rewrite.old_graph().facts_of(producer.inputs);
  if (!keeps_nothing_between_calls(producer, in)) return {};
  if (!may_pass(*this, producer, rewrite.in(0), in[0])) return {};
  const auto tracks = producer.op->axes(in, producer.outputs);
  const AxisTrack* track = track_of(tracks, static_cast<int>(axis), in.size());
  if (!track) return {};
  for (size_t i = 0; i < in.size(); ++i) {
    if (track->in[i] < 0) continue;
    Dim& extent = in[i].shape[static_cast<size_t>(track->in[i])];
    if (extent == Dim(*whole)) {
      extent = Dim(*to - *from);
      in[i] = in[i].without_value();
    } else if (!(extent == Dim(1))) {
      return {};
    }
  }
  const OpPtr op = resized(producer.op, static_cast<int>(axis), Dim(*to - *from));
  const auto made_now = op->infer(in);
  if (!made_now.ok() || !((*made_now)[0].shape == rewrite.out().shape)) return {};
  std::vector<OutletId> inputs;
  for (size_t i = 0; i < in.size(); ++i) {
    OutletId input = rewrite.mapped(producer.inputs[i]);
    const int at = track->in[i];
    if (at >= 0 && rewrite.new_fact(input).dim(at) == Dim(*whole)) {
      auto slice = std::make_shared<Slice>(*this);
      slice->axis = at;
      RILL_ASSIGN(input,
                  rewrite.wire1(str_cat(rewrite.node().name, "_", i), std::move(slice), {input}));
    }
    inputs.push_back(input);
  }
  RILL_ASSIGN(const OutletId out, rewrite.wire1(producer.name, op, std::move(inputs)));
  return rewrite.replace({out});
}

}  // namespace rill::ops
