#include "ops/array/nearest_upsample.h"

#include <algorithm>

#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "ops/array/reshape.h"

namespace rill::ops {
namespace {

/// Return the axes of the copy that `eval` makes: two per repeated axis, one per other axis.
size_t axes_of(const std::vector<int64_t>& scales) {
  size_t axes = scales.size();
  for (const int64_t scale : scales) axes += scale != 1 ? 1 : 0;
  return axes;
}

/// Return how often `add`, a repeat and `merge` repeat the elements of an axis; 0 if they do
/// something else.
int64_t repeats(const AddAxis& add, const Fact& repeated, const Reshape& merge,
                const Fact& source) {
  const int64_t axis = merge.axis;
  if (merge.count != 2 || merge.to.size() != 1 || add.axis != axis + 1) return 0;
  const auto times = repeated.dim(static_cast<int>(axis + 1)).to_int();
  if (!times || *times < 2) return 0;
  for (int i = 0; i < source.rank(); ++i) {
    if (!(source.dim(i) == repeated.dim(i > axis ? i + 1 : i))) return 0;
  }
  return merge.to[0] == source.dim(static_cast<int>(axis)) * Dim(*times) ? *times : 0;
}

}  // namespace

Result<Facts> NearestUpsample::infer(FactSpan in) const {
  RILL_CHECK(in.size() == 1 && scales.size() == in[0].shape.size(), scales.size(), " scales");
  Fact out = in[0].without_value();
  for (size_t axis = 0; axis < scales.size(); ++axis) {
    RILL_CHECK(scales[axis] >= 1, "scale ", scales[axis]);
    out.shape[axis] *= Dim(scales[axis]);
  }
  RILL_CHECK(axes_of(scales) <= static_cast<size_t>(kMaxRank), "scales of too many axes");
  return one_fact(std::move(out));
}

/// Upsample by one copy: treat an axis of d elements repeated s times as [d, s], with stride 0 for
/// s.
Status NearestUpsample::eval(EvalCtx& ctx) const {
  View from = ctx.in[0];
  View to = ctx.out[0];
  from.rank = to.rank = 0;
  const auto put = [&](int64_t extent, int64_t from_step, int64_t to_step) {
    const auto at = static_cast<size_t>(from.rank++);
    ++to.rank;
    from.shape[at] = to.shape[at] = extent;
    from.stride[at] = from_step;
    to.stride[at] = to_step;
  };
  for (size_t axis = 0; axis < scales.size(); ++axis) {
    const int at = static_cast<int>(axis);
    put(ctx.in[0].extent(at), ctx.in[0].step(at), ctx.out[0].step(at) * scales[axis]);
    if (scales[axis] != 1) put(scales[axis], 0, ctx.out[0].step(at));
  }
  copy_view(from, to);
  return {};
}

/// Merge two consecutive upsamplings.
Status NearestUpsample::fuse(Rewrite& rewrite) const {
  const auto* before = rewrite.producer_as<NearestUpsample>(0);
  if (!before || rewrite.uses(rewrite.input(0)) != 1) return {};
  auto both = draft_op<NearestUpsample>(*this);
  for (size_t axis = 0; axis < scales.size(); ++axis) both->scales[axis] *= before->scales[axis];
  if (axes_of(both->scales) > static_cast<size_t>(kMaxRank)) return {};
  return rewrite.replace_by(std::move(both), {rewrite.mapped(rewrite.producer(0).inputs[0])});
}

Status fuse_upsample(const Reshape& reshape, Rewrite& rewrite) {
  const Graph& graph = rewrite.old_graph();
  if (!repeated_wire(graph, rewrite.input(0)) || rewrite.uses(rewrite.input(0)) != 1) return {};
  const OutletId grown = rewrite.producer(0).inputs[0];
  const auto* add = graph.node(grown.node).op->as<AddAxis>();
  if (!add || rewrite.uses(grown) != 1) return {};
  const OutletId source = graph.node(grown.node).inputs[0];
  const int64_t times = repeats(*add, rewrite.in(0), reshape, graph.fact(source));
  if (times == 0) return {};
  auto op = draft_op<NearestUpsample>();
  op->scales.assign(graph.fact(source).shape.size(), 1);
  op->scales[static_cast<size_t>(reshape.axis)] = times;
  if (axes_of(op->scales) > static_cast<size_t>(kMaxRank)) return {};
  return rewrite.replace_by(std::move(op), {rewrite.mapped(source)});
}

}  // namespace rill::ops
