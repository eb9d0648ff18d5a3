// Indices that stay constant for N places and then advance by a fixed number of rows are a slice
// too, each row of which is repeated: x[arange(n) // 4 * 4] holds every fourth row.

#include <string>
#include <vector>

#include "core/dim/pattern.h"
#include "core/graph/rewrite.h"
#include "ops/array/axis_ops.h"
#include "ops/array/broadcast.h"
#include "ops/array/gather.h"
#include "ops/array/index_run.h"
#include "ops/array/reshape.h"
#include "ops/array/slice.h"
#include "ops/array/symbolic.h"
#include "ops/built.h"

namespace rill::ops {
IndexHold index_hold_of(const Graph& graph, OutletId indices) {
  constexpr int64_t kMostTimes = int64_t{1} << 20;
  const std::string place = graph.scope.fresh("place");
  const Dim index = positional_value(graph, indices, place).value_or(Dim::invalid());
  const auto pattern = DimPattern::of(index, place);
  IndexHold out;
  if (pattern.ok() && pattern->settled() == 0 && pattern->period() <= kMostTimes) {
    out = {pattern->growth(), pattern->period()};
  }
  for (int64_t i = 0; i < out.times; ++i) {
    if (index.eval(place, i) != 0) out.times = 0;
  }
  return out;
}

Status Gather::slice_holds(Rewrite& rewrite) const {
  if constexpr (built("axis_ops") && built("reshape") && built("broadcast")) {
    const Fact& rows = rewrite.in(0);
    const Dim& extent = rows.dim(static_cast<int>(axis));
    const Dim& count = rewrite.in(1).dim(0);
    const bool open = !extent.is_const() && !count.is_const();
    if (!open || is_quantised(rows.dtype) || !counts_rows(rewrite.in(1).dtype)) return {};
    const auto [hop, times] = index_hold_of(rewrite.old_graph(), rewrite.input(1));
    if (hop < 1 || times < 2) return {};
    const Dim all = ceil_div(extent, hop) * Dim(times);
    // The last row may be held for less.
    if (!rewrite.scope().proves_ge(all, count)) return {};
    std::vector<Dim> repeats(rows.shape.size() + 1, Dim(1));
    repeats[static_cast<size_t>(axis) + 1] = Dim(times);
    OutletId out = rewrite.mapped(rewrite.input(0));
    const OpPtr steps[] = {make_op<Downsample>(axis, hop, 0), make_op<AddAxis>(axis + 1),
                           make_op<Tile>(std::move(repeats)),
                           make_op<Reshape>(axis, 2, std::vector<Dim>{all}),
                           make_op<Slice>(axis, Dim(0), count)};
    for (const OpPtr& op : steps) {
      RILL_ASSIGN(out, rewrite.wire1(rewrite.node().name, op, {out}));
    }
    return rewrite.replace({out});
  }
  return {};
}

}  // namespace rill::ops
