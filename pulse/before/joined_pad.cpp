#include "pulse/before/joined_pad.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/search.h"
#include "core/dim/bound.h"
#include "core/graph/course.h"
#include "core/graph/rewrite.h"
#include "core/optim/optim.h"
#include "core/tensor/uniform.h"
#include "ops/array/broadcast.h"
#include "ops/array/common.h"
#include "ops/array/concat.h"
#include "ops/array/pad.h"
#include "ops/array/slice.h"

namespace rill::pulse {
namespace {

// The maximum number of frames to pad and cut again, which costs time.
constexpr int64_t kMostSurplus = 1 << 12;

/// A part of a join that a pad can replace.
struct Part {
  int64_t frames = 0;
  TensorPtr value;  ///< null: the frame next to the part
  /// Take the frame from the input of the adjacent slice: in a short stream, the slice itself may
  /// be empty.
  bool cut_off = false;
  Dim surplus;  ///< `frames` minus the frames of the part in a shorter stream
};

class Join {
 public:
  Join(const Rewrite& rewrite, int axis, std::string_view symbol)
      : rewrite_(rewrite), axis_(axis) {
    std::vector<int> open;
    std::vector<int> growing;
    for (int i = 0; i < static_cast<int>(rewrite.node().inputs.size()); ++i) {
      const Dim frames = rewrite.scope().simplify(rewrite.in(i).dim(axis_));
      if (!frames.mentions(symbol)) continue;
      open.push_back(i);
      if (bound_of(frames).value_or(INT64_MAX) > kMostSurplus) growing.push_back(i);
    }
    const std::vector<int>& mains = growing.empty() ? open : growing;
    if (mains.size() == 1) main_ = mains[0];
  }

  bool has_frames() const { return main_ >= 0; }

  /// Move as many parts as possible into pads, from the frames outwards.
  Status pad(Rewrite* rewrite) {
    const int count = static_cast<int>(rewrite->node().inputs.size());
    const int first = reach(-1, -1);
    const int last = reach(1, count);
    if (prefix_.empty() && suffix_.empty()) return {};
    const auto late = late_cut();
    OutletId wire =
        rewrite->mapped(late ? rewrite->producer(main_).inputs[0] : rewrite->input(main_));
    int64_t added = 0;
    if (!suffix_.empty() && !(suffix_.back().surplus == Dim(0))) {
      RILL_ASSIGN(wire, filled(rewrite, wire));
      suffix_.clear();
    }
    const size_t layers = std::max(prefix_.size(), suffix_.size());
    for (size_t i = 0; i < layers; ++i) {
      const Part* before = i < prefix_.size() ? &prefix_[i] : nullptr;
      const Part* after = i < suffix_.size() ? &suffix_[i] : nullptr;
      added += before ? before->frames : after->frames;
      if (before && after && is_alike(*before, *after)) {
        RILL_ASSIGN(wire, padded(rewrite, wire, *before, before->frames, after->frames));
        continue;
      }
      if (before) {
        RILL_ASSIGN(wire, padded(rewrite, wire, *before, before->frames, 0));
      }
      if (after) {
        RILL_ASSIGN(wire, padded(rewrite, wire, *after, 0, after->frames));
      }
    }
    if (late) {
      auto kept = draft_op<ops::Slice>(axis_, *late->begin, *late->end + Dim(added));
      RILL_ASSIGN(wire, rewrite->wire1(rewrite->node().name, std::move(kept), {wire}));
    }
    if (first < 0 && last == count) return rewrite->replace({wire});
    std::vector<OutletId> rest;
    for (int i = 0; i <= first; ++i) rest.push_back(rewrite->mapped(rewrite->input(i)));
    rest.push_back(wire);
    for (int i = last; i < count; ++i) rest.push_back(rewrite->mapped(rewrite->input(i)));
    RILL_ASSIGN(const OutletId joined,
                rewrite->wire1(rewrite->node().name, make_op<ops::Concat>(axis_), rest));
    return rewrite->replace({joined});
  }

 private:
  /// Pad by the maximum length of a suffix whose length varies, and cut the surplus. Add prefixes
  /// after that: a window absorbs a pad only if it reads the pad directly, without a slice in
  /// between.
  Result<OutletId> filled(Rewrite* rewrite, OutletId wire) {
    for (const Part& after : suffix_) {
      RILL_ASSIGN(wire, padded(rewrite, wire, after, 0, after.frames));
    }
    const Dim padded = rewrite->new_fact(wire).dim(axis_);
    auto kept = draft_op<ops::Slice>(axis_, Dim(0), padded - suffix_.back().surplus);
    return rewrite->wire1(rewrite->node().name, std::move(kept), {wire});
  }

  /// Collect the parts on one side. Return the first input that is not a part.
  int reach(int step, int end) {
    std::vector<Part>& side = step < 0 ? prefix_ : suffix_;
    int i = main_ + step;
    for (; i != end; i += step) {
      auto part = part_of(i, step < 0);
      if (!part) break;
      // The nearest frame belongs to the stream only if no constant is in between.
      if (!part->value && !side.empty() && side.back().value) break;
      // A part of varying length must be the last one of the suffix.
      if (!(part->surplus == Dim(0))) {
        if (step < 0 || part->cut_off || (!side.empty() && side.back().cut_off)) break;
        side.push_back(std::move(*part));
        return i + step;
      }
      if (!side.empty() && is_alike(*part, side.back())) {
        side.back().frames += part->frames;
      } else {
        side.push_back(std::move(*part));
      }
    }
    return i;
  }

  /// Return the slice that produces the frames if its input can be padded first and cut afterwards:
  /// only on one side, at which the slice cuts nothing.
  std::optional<Course> late_cut() const {
    const std::vector<Part>& side = prefix_.empty() ? suffix_ : prefix_;
    if (!side[0].cut_off || (!prefix_.empty() && !suffix_.empty())) {
      return std::nullopt;
    }
    const auto own = cut();
    const Graph& graph = rewrite_.old_graph();
    const Dim& extent = graph.fact(rewrite_.producer(main_).inputs[0]).dim(axis_);
    const bool whole = prefix_.empty() ? *own->end == extent : *own->begin == Dim(0);
    return whole ? own : std::nullopt;
  }

  static bool is_alike(const Part& a, const Part& b) {
    return a.value && b.value ? a.value->same_bits(*b.value) : !a.value && !b.value;
  }

  Result<OutletId> padded(Rewrite* rewrite, OutletId wire, const Part& part, int64_t before,
                          int64_t after) const {
    const Fact& fact = rewrite->new_fact(wire);
    Pads pads(static_cast<size_t>(fact.rank()), {0, 0});
    pads[static_cast<size_t>(axis_)] = {before, after};
    TensorPtr value = part.value;
    if (!value) {
      RILL_ASSIGN(Tensor zero, Tensor::zeros(fact.dtype, {}, fact.q));
      value = std::make_shared<const Tensor>(std::move(zero));
    }
    return rewrite->wire1(rewrite->node().name,
                          make_op<ops::Pad>(std::move(pads), part.value ? "constant" : "replicated",
                                            std::move(value)),
                          {wire});
  }

  std::optional<Part> part_of(int i, bool prefix) const {
    const Graph& graph = rewrite_.old_graph();
    const Dim amount = rewrite_.scope().simplify(rewrite_.in(i).dim(axis_));
    const auto frames = bound_of(amount);
    if (!frames || *frames < 1 || is_quantised(rewrite_.in(i).dtype)) return std::nullopt;
    Dim surplus = Dim(*frames) - amount;
    const bool open = !(surplus == Dim(0));
    if (open && (*frames > kMostSurplus || !rewrite_.scope().proves_non_negative(amount))) {
      return std::nullopt;
    }
    OutletId at = rewrite_.input(i);
    const Node* node = &graph.node(at.node);
    // Only a constant may be repeated along other axes than that of the join.
    while ((node->op->as<ops::Broadcast>() || node->op->as<ops::Tile>()) &&
           graph.fact(node->inputs[0]).rank() == node->outputs[0].rank()) {
      at = node->inputs[0];
      node = &graph.node(at.node);
    }
    if (const TensorPtr& konst = graph.fact(at).konst) {
      return constant(konst, *frames, std::move(surplus));
    }
    const Course slice = node->op->course();
    if (!cuts_frames(slice) || !(length_of(slice) == Dim(1))) return std::nullopt;
    Facts facts{graph.fact(at), rewrite_.in(i)};
    for (int axis = 0; axis < facts[0].rank(); ++axis) {
      if (axis != axis_ && !(facts[0].dim(axis) == facts[1].dim(axis))) return std::nullopt;
    }
    const bool cut_off = !(node->inputs[0] == rewrite_.input(main_));
    return is_end(slice, node->inputs[0], prefix)
               ? std::optional<Part>({*frames, nullptr, cut_off, std::move(surplus)})
               : std::nullopt;
  }

  static std::optional<Part> constant(const TensorPtr& konst, int64_t frames, Dim surplus) {
    if (konst->volume() < 1 || !is_uniform(konst)) return std::nullopt;
    if (!is_float(konst->dtype()) && !is_int(konst->dtype())) return std::nullopt;
    return Part{frames, std::make_shared<const Tensor>(first_element(*konst)), false,
                std::move(surplus)};
  }

  Dim length_of(const Course& slice) const {
    return rewrite_.scope().simplify(*slice.end - *slice.begin);
  }

  bool cuts_frames(const Course& course) const {
    return course.is(Course::Form::kCut) && course.axis() == axis_;
  }

  /// Return the slice that produces the joined frames; nothing if there is none.
  std::optional<Course> cut() const {
    const Course course = rewrite_.producer(main_).op->course();
    return cuts_frames(course) ? std::optional(course) : std::nullopt;
  }

  /// Return whether a slice of one frame takes the first, or the last, of the frames to which it is
  /// joined.
  bool is_end(const Course& slice, OutletId from, bool prefix) const {
    const Graph& graph = rewrite_.old_graph();
    OutletId frames = rewrite_.input(main_);
    Dim begin = 0;
    Dim end = graph.fact(frames).dim(axis_);
    if (const auto own = cut(); own && !(frames == from)) {
      frames = rewrite_.producer(main_).inputs[0];
      begin = *own->begin;
      end = *own->end;
    }
    if (!(frames == from)) return false;
    const Dim gap = prefix ? *slice.begin - begin : end - *slice.end;
    return rewrite_.scope().simplify(gap) == Dim(0);
  }

  const Rewrite& rewrite_;
  int axis_ = 0;
  int main_ = -1;            ///< the only input that grows with the stream
  std::vector<Part> prefix_;  ///< from the frames outwards
  std::vector<Part> suffix_;
};

bool joins(const Op& op) { return op.course().is(Course::Form::kJoined); }

}  // namespace

Result<Graph> pads_of_joins(Graph graph, std::string_view symbol) {
  if (none_of(graph.nodes, [](const Node& node) { return joins(*node.op); })) return graph;
  const auto pad = [symbol](const Op& op, Rewrite& rewrite) -> Status {
    if (!joins(op)) return {};
    Join join(rewrite, op.course().axis(), symbol);
    return join.has_frames() ? join.pad(&rewrite) : Status();
  };
  bool changed = false;
  RILL_ASSIGN(Graph out, rewrite_once(graph, pad, &changed));
  // A slice that cuts off a new pad simplifies to a slice of the frames.
  return changed ? declutter(out) : Result<Graph>(std::move(out));
}

}  // namespace rill::pulse
