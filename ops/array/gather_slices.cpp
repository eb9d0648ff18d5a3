// Turns gathers of consecutive or constant rows into slices.

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/graph/pulse.h"
#include "core/graph/rewrite.h"
#include "ops/array/axis_ops.h"
#include "ops/array/common.h"
#include "ops/array/concat.h"
#include "ops/array/gather.h"
#include "ops/array/index_run.h"
#include "ops/array/pad.h"
#include "ops/array/slice.h"
#include "ops/built.h"

namespace rill::ops {
namespace {

/// Return how often the first and the last row are repeated for indices that are clamped to the
/// rows. Nothing if this number is unknown, or if indices are clamped to other bounds.
std::optional<std::pair<int64_t, int64_t>> padding_of(const IndexRun& run, const Dim& extent,
                                                      const SymbolScope& scope) {
  const bool begins_inside = scope.proves_ge(run.begin, Dim(0));
  const bool ends_inside = scope.proves_ge(extent, run.end);
  if (!run.is_clamped()) {
    if (!begins_inside || !ends_inside) return std::nullopt;
    return std::pair<int64_t, int64_t>(0, 0);
  }
  const auto stops = [&](const std::optional<Dim>& at, const Dim& edge) {
    return at && scope.simplify(*at - edge) == Dim(0);
  };
  const bool low = stops(run.low, Dim(0)) || (begins_inside && !run.low);
  const bool high = stops(run.high, extent - Dim(1)) || (ends_inside && !run.high);
  const auto before = begins_inside ? 0 : scope.simplify(-run.begin).to_int();
  const auto after = ends_inside ? 0 : scope.simplify(run.end - extent).to_int();
  // The row that is repeated must exist.
  if (!low || !high || !before || !after || run.step != 1 || !scope.proves_ge(extent, Dim(1))) {
    return std::nullopt;
  }
  return std::pair(std::max<int64_t>(0, *before), std::max<int64_t>(0, *after));
}

/// Prepend the first row `before` times, and append the last row `after` times.
Result<OutletId> repeat_ends(Rewrite& rewrite, OutletId rows, int64_t axis, int64_t before,
                             int64_t after) {
  const Fact& fact = rewrite.new_fact(rows);
  Pads pads(static_cast<size_t>(fact.rank()), {0, 0});
  pads[static_cast<size_t>(axis)] = {before, after};
  RILL_ASSIGN(Tensor zero, Tensor::zeros(fact.dtype, {}));
  return rewrite.wire1(
      str_cat(rewrite.node().name, "_ends"),
      make_op<Pad>(std::move(pads), "replicated", std::make_shared<const Tensor>(std::move(zero))),
      {rows});
}

/// Rows [first, second) of a table.
using Rows = std::pair<Dim, Dim>;

constexpr int64_t kMostPlaces = 64;

/// Return the rows at constant indices, with consecutive rows merged. Nothing if the sign of an
/// index is unknown, or if there are too many indices.
std::optional<std::vector<Rows>> rows_at(const Tensor& indices, const Dim& extent,
                                         const SymbolScope& scope) {
  if (indices.volume() < 1 || indices.volume() > kMostPlaces) return std::nullopt;
  std::vector<Rows> out;
  for (int64_t i = 0; i < indices.volume(); ++i) {
    auto written = element_as_dim(indices, i);
    if (!written.ok()) return std::nullopt;
    Dim place = scope.simplify(*written);
    if (scope.proves_ge(Dim(-1), place)) {
      place = scope.simplify(extent + place);
    } else if (!scope.proves_non_negative(place)) {
      return std::nullopt;
    }
    if (!out.empty() && out.back().second == place) {
      out.back().second = place + Dim(1);
    } else {
      out.emplace_back(place, place + Dim(1));
    }
  }
  return out;
}

/// Return the unit axis that the node of a wire adds to its input; nothing for other nodes.
std::optional<int64_t> added_axis(const Graph& graph, OutletId wire) {
  const Node& node = graph.node(wire.node);
  if (node.inputs.size() != 1 || !node.op->traits().keeps_order) return std::nullopt;
  const std::vector<Dim>& before = graph.fact(node.inputs[0]).shape;
  const std::vector<Dim>& shape = graph.fact(wire).shape;
  for (size_t at = 0; at < shape.size() && shape.size() == before.size() + 1; ++at) {
    std::vector<Dim> rest = shape;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(at));
    if (shape[at] == Dim(1) && rest == before) return static_cast<int64_t>(at);
  }
  return std::nullopt;
}

/// Concatenate slices of `x`.
Result<OutletId> joined_rows(Rewrite& rewrite, OutletId x, int64_t axis,
                             const std::vector<Rows>& rows) {
  const std::string& name = rewrite.node().name;
  std::vector<OutletId> parts;
  for (const auto& [from, to] : rows) {
    const std::string own = rows.size() == 1 ? name : str_cat(name, "_at_", parts.size());
    RILL_ASSIGN(const OutletId part, rewrite.wire1(own, make_op<Slice>(axis, from, to), {x}));
    parts.push_back(part);
  }
  if (parts.size() == 1) return parts[0];
  if constexpr (built("concat")) {
    return rewrite.wire1(name, make_op<Concat>(axis), parts);
  }
  return fail(Code::kInternal, "no operator to join rows");
}

}  // namespace

/// Replace rows at constant indices by slices, if the signs of the indices are known.
Status Gather::slice_places(Rewrite& rewrite) const {
  const Fact& indices = rewrite.in(1);
  const Dim& extent = rewrite.in(0).dim(static_cast<int>(axis));
  const bool stays = is_quantised(rewrite.in(0).dtype) || indices.rank() > 1;
  if (stays || !indices.konst || !counts_rows(indices.dtype) || extent.is_const()) return {};
  const auto rows = rows_at(*indices.konst, extent, rewrite.scope());
  if (!rows || (rows->size() > 1 && !built("concat"))) return {};
  if (indices.rank() == 0 && !built("axis_ops")) return {};
  RILL_ASSIGN(OutletId out,
              joined_rows(rewrite, rewrite.mapped(rewrite.input(0)), axis, *rows));
  if constexpr (built("axis_ops")) {
    if (indices.rank() == 0) {
      RILL_ASSIGN(out, rewrite.wire1(rewrite.node().name, make_op<RmAxis>(axis), {out}));
    }
  }
  return rewrite.replace({out});
}

/// Add a unit axis to the rows rather than to their indices: the form of indices with one axis may
/// be known.
Status Gather::move_axis_downstream(Rewrite& rewrite) const {
  const Dim& extent = rewrite.in(0).dim(static_cast<int>(axis));
  const auto added = added_axis(rewrite.old_graph(), rewrite.input(1));
  if (!added || extent.is_const() || is_quantised(rewrite.in(0).dtype)) return {};
  const int64_t at = axis + *added;
  RILL_ASSIGN(const OutletId rows,
              rewrite.wire1(str_cat(rewrite.node().name, "_rows"), clone(),
                            {rewrite.mapped(rewrite.input(0)),
                             rewrite.mapped(rewrite.producer(1).inputs[0])}));
  return rewrite.replace_by(make_op<AddAxis>(at), {rows});
}

/// Replace consecutive rows by a slice if all of them are known to exist. If indices are clamped to
/// the first and last row, slice the rows after padding them with repeats.
Status Gather::declutter(Rewrite& rewrite) const {
  if (rewrite.in(0).konst) return {};
  if (rewrite.in(1).konst) return slice_places(rewrite);
  if constexpr (built("axis_ops")) {
    RILL_TRY(move_axis_downstream(rewrite));
    if (rewrite.replacement()) return {};
  }
  if (rewrite.in(1).rank() == 2) return slice_windows(rewrite);
  if (rewrite.in(1).rank() != 1) return {};
  const auto run = index_run_of(rewrite.old_graph(), rewrite.input(1));
  const Dim& extent = rewrite.in(0).dim(static_cast<int>(axis));
  if (!run) return slice_holds(rewrite);
  if (extent.is_const()) return {};
  const auto border = padding_of(*run, extent, rewrite.scope());
  if (!border) return {};
  OutletId out = rewrite.mapped(rewrite.input(0));
  const auto [before, after] = *border;
  if (before > 0 || after > 0) {
    if (is_quantised(rewrite.in(0).dtype)) return {};
    if constexpr (built("pad")) {
      RILL_ASSIGN(out, repeat_ends(rewrite, out, axis, before, after));
    } else {
      return {};
    }
  }
  RILL_ASSIGN(
      out,
      rewrite.wire1(rewrite.node().name,
                    make_op<Slice>(axis, run->begin + Dim(before), run->end + Dim(before)), {out}));
  if (run->step > 1) {
    RILL_ASSIGN(out,
                rewrite.wire1(rewrite.node().name, make_op<Downsample>(axis, run->step, 0), {out}));
  }
  return rewrite.replace({out});
}

Status Gather::pulsify(PulseBuilder& b) const {
  const auto data = b.stream(0);
  if (!data || data->axis != axis) return Op::pulsify(b);
  const std::string frames =
      str_cat("it takes frames of streaming axis ", axis, " of ", b.in(0).to_string(), " at ");
  if (b.stream(1)) {
    const std::string remedy = str_cat(
        "Choose frames by slices; or assert the least length at which all indices lie in "
        "the stream, as in --assert '",
        b.symbol(), " >= N' with a number for N");
    return b.refuse(remedy, frames,
                    "indices that stream, and are not known to count up within its frames");
  }
  if (b.in(1).konst) {
    std::string remedy = "Take them by a slice, as in x[:, a:b]";
    if (b.in(1).dtype == DType::kDim) {
      remedy += str_cat("; or assert a length from which their sign follows, as in --assert '",
                        b.symbol(), " >= N'");
    }
    return b.refuse(remedy, frames, "indices that may count from either end, or are too many");
  }
  return b.refuse("Give the indices as constants, or take the frames in the app", frames,
                  "indices that are known at run time only");
}

}  // namespace rill::ops
